//! What is refused of an expression when the configuration is checked. OURS-05

use std::fmt::Write;

use super::{SMALL, environment, folder, read_in};

/// The errors of a route with this `when`, or with this `key`.
fn refused(word: &str, expression: &str) -> String {
    let key = "key = 'string(event.data.number)'";
    let text = match word {
        "when" => SMALL.replace(key, &format!("{key}\nwhen = '''{expression}'''")),
        "attach" => SMALL.replace(key, &format!("{key}\nattach = '''{expression}'''")),
        _ => SMALL.replace(key, &format!("key = '''{expression}'''")),
    };
    read_in(&folder(), &text, &environment()).err().unwrap_or_else(|| "ACCEPTED\n".to_owned())
}

fn table(cases: &[(&str, &str)]) -> String {
    let mut all = String::new();
    for (word, expression) in cases {
        writeln!(all, "{}", refused(word, expression)).expect("a text takes any text");
    }
    all
}

/// OURS-05
#[test]
fn unknown_names_fields_and_functions_are_refused_where_they_stand() {
    insta::assert_snapshot!(table(&[
        ("when", "evnt.type == 'push'"),
        ("when", "event.typ == 'push'"),
        ("when", "work != null && work.state == 'ready'"),
        ("when", "route.confg.x == 1"),
        ("when", "event.data.title.startWith('x')"),
        ("when", "now() > 1"),
        ("when", "env.HOME == 'x'"),
        ("when", "event == null"),
        ("when", "event.data.labels.exists(event, event.name == 'x')"),
        ("when", "event.data.labels.exists(l, m.name == 'x')"),
        ("when", "Thing{a: 1} == null"),
        ("when", "'é' == event.sorce"),
        ("when", "event.type.matches('(')"),
        ("when", "has(event.foo)"),
        ("when", "optional.of(1).hasValue()"),
    ]));
}

/// OURS-05
#[test]
fn macros_inside_macros_are_refused_and_macros_in_a_row_are_not() {
    insta::assert_snapshot!(refused("when", "event.data.a.exists(x, x.b.exists(y, y == 1))"));
    let row = "event.data.a.filter(x, x.b == 1).exists(y, has(y.c)) && event.data.d.all(z, z > 1)";
    assert_eq!(refused("when", row), "ACCEPTED\n");
}

#[test]
fn what_a_macro_collects_cannot_be_made_larger() {
    insta::assert_snapshot!(table(&[
        ("when", "'x' in event.data.l.map(x, x.name + event.data.body)"),
        ("when", "size(event.data.l.map(x, bytes(event.data.body))) == 1"),
    ]));
    for fits in [
        "'bug' in event.data.labels.map(l, l.name)",
        "event.data.l.map(x, x.n + 1) == [2]",
        "event.data.l.exists(x, x.name + 'a' == event.data.body)",
        "event.data.l.filter(x, x > 1) + event.data.m == []",
    ] {
        assert_eq!(refused("when", fits), "ACCEPTED\n", "{fits}");
    }
}

/// OURS-05
#[test]
fn types_that_cannot_fit_are_refused_and_dynamic_ones_are_not() {
    insta::assert_snapshot!(table(&[
        ("when", "'true'"),
        ("when", "size(event.data.labels)"),
        ("when", "event.type"),
        ("when", "event.data.a == 1 ? true : 'no'"),
        ("when", "event.data.labels.map(x, x)"),
        ("key", "true"),
        ("key", "7"),
        ("key", "event.data.a == 1"),
        ("key", "[event.data.a]"),
        ("attach", "'a'"),
        ("attach", "event.data.a == 1"),
    ]));
    for fits in ["event.self", "has(event.data.a)", "event.data.flag", "scope == 'main'"] {
        assert_eq!(refused("when", fits), "ACCEPTED\n", "{fits}");
    }
    let either = "has(event.data.a) ? string(event.data.a) : null";
    for fits in ["null", "event.data.id", "event.subject", "scope", either] {
        assert_eq!(refused("key", fits), "ACCEPTED\n", "{fits}");
    }
}

/// OURS-05
#[test]
fn what_is_attached_is_a_list_and_may_name_the_work() {
    for fits in ["null", "['a']", "event.data.refs", "work == null ? [] : work.keys.map(k, k.id)"] {
        assert_eq!(refused("attach", fits), "ACCEPTED\n", "{fits}");
    }
}

#[test]
fn a_key_cannot_depend_on_what_is_known_only_later() {
    insta::assert_snapshot!(table(&[
        ("key", "work == null ? 'a' : work.id"),
        ("key", "string(event.seq)"),
        ("key", "event.key.id"),
    ]));
}

#[test]
fn what_does_not_parse_is_located() {
    insta::assert_snapshot!(table(&[
        ("when", "event.type =="),
        ("when", "event.type == 'push' and true"),
        ("when", ""),
        ("when", "event.?data"),
        ("when", "true &&\n  ) == 1"),
    ]));
}

#[test]
fn an_expression_over_the_limit_is_refused_before_it_is_compiled() {
    // The compiler's own error would be past the column its printing survives.
    let long = format!("{} )", "x".repeat(70_000));
    let errors = refused("when", &long);
    assert!(errors.contains("the expression is longer than 4096 bytes"), "{errors}");
    assert!(errors.len() < 600, "{errors}");
    let fits = format!("event.type == '{}'", "x".repeat(4096 - 16));
    assert_eq!(refused("when", &fits), "ACCEPTED\n");
}

/// Each of these overflows a usual stack, in the compiler or in the evaluation.
#[test]
fn deep_nesting_is_refused_and_overflows_nothing() {
    let deep = [
        format!("{}true{}", "(".repeat(2000), ")".repeat(2000)),
        "(".repeat(4096),
        "[".repeat(4096),
        format!("1{} == 1", "+1".repeat(2000)),
        format!("event.data{} == 1", ".a".repeat(2000)),
        format!("true{}", "?true:true".repeat(400)),
        format!("event.data{}", "[0]".repeat(1300)),
        format!("event.data{}", ".filter(x,true)".repeat(250)),
        format!("{}true{}", "!(".repeat(1300), ")".repeat(1300)),
    ];
    for expression in deep {
        let errors = refused("when", &expression);
        assert!(
            errors.contains("nested too deeply") || errors.contains("this is not an expression"),
            "{}: {errors}",
            &expression[..20]
        );
    }
}

#[test]
fn a_multi_line_expression_is_located_on_its_own_line() {
    let errors = refused("when", "\n  event.type == 'push' &&\n    evnt.x == 1\n");
    assert!(errors.contains("abide.toml:14:5   evnt.x == 1"), "{errors}");
}

#[test]
fn an_expression_with_escapes_is_located_at_its_start() {
    let key = "key = 'string(event.data.number)'";
    let text = SMALL.replace(key, &format!("{key}\nwhen = \"evnt.x == \\\"a\\\"\""));
    let errors = read_in(&folder(), &text, &environment()).err().unwrap_or_default();
    assert!(errors.contains("abide.toml:12:8"), "{errors}");
}
