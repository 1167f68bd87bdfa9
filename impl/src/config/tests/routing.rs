//! What the declarative routes decide.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SMALL, valid};
use crate::config::{Config, LIST_MAX, Routes};
use crate::domain::{EventUid, Key, WorkStatus, WorkUid};
use crate::extension::route::{
    EventView, RouteAction, RouteError, RouteErrorKind, RouteHandler, Sender, Why, WorkView,
};

/// A configuration with these routes instead: name, `on`, and the lines after.
fn routes(list: &[(&str, &str, &str)]) -> Routes {
    let (head, tail) = SMALL.split_once("[[scope.\"main\".route]]").expect("it has a route");
    let tail = &tail[tail.find("[scope.\"main\".kind").expect("it has a kind")..];
    let tables = list.iter().map(|(name, on, lines)| {
        format!(
            "[[scope.\"main\".route]]\nname = \"{name}\"\non = [\"{on}\"]\ndo = \"work\"\n\
             kind = \"review\"\n{lines}\n"
        )
    });
    let config: Config = valid(&format!("{head}{}{tail}", tables.collect::<String>()));
    config.scopes["main"].handler.clone().with_deadline(Duration::from_secs(60))
}

/// Routes on every type: name, `do`, and the lines after. Those that create have a kind.
fn acting(list: &[(&str, &str, &str)]) -> Routes {
    let (head, tail) = SMALL.split_once("[[scope.\"main\".route]]").expect("it has a route");
    let tail = &tail[tail.find("[scope.\"main\".kind").expect("it has a kind")..];
    let tables = list.iter().map(|(name, action, lines)| {
        let kind = if *action == "work" { "kind = \"review\"" } else { "" };
        format!(
            "[[scope.\"main\".route]]\nname = \"{name}\"\non = [\"*\"]\ndo = \"{action}\"\n\
             {kind}\n{lines}\n"
        )
    });
    let config = valid(&format!("{head}{}{tail}", tables.collect::<String>()));
    config.scopes["main"].handler.clone().with_deadline(Duration::from_secs(60))
}

fn event(event_type: &str, data: Value) -> EventView {
    EventView {
        uid: EventUid::new(),
        seq: Some(7),
        source: "test:1".into(),
        event_type: event_type.into(),
        key: None,
        subject: None,
        time: None,
        scope: "main".into(),
        sender: Sender::default(),
        data,
    }
}

pub(super) fn keyed(event_type: &str, data: Value) -> EventView {
    let key = Key { source: "test:1".into(), external_id: "k".into() };
    EventView { key: Some(key), ..event(event_type, data) }
}

fn work(status: WorkStatus) -> WorkView {
    let keys = vec![Key { source: "test:1".into(), external_id: "k".into() }];
    WorkView { uid: WorkUid::new(), kind: "review".into(), status, keys, attempt: 2 }
}

/// Why the one route of this `when` ended as it did for this payload.
fn when(expression: &str, data: Value) -> Result<Why, RouteError> {
    let routes = routes(&[("r", "*", &format!("when = '''{expression}'''"))]);
    let decision = routes.evaluate(&keyed("push", data), None)?;
    Ok(decision.tried.into_iter().next().expect("the route was tried").why)
}

/// The key the one route gives for this payload.
fn key(expression: &str, data: Value) -> Result<Option<String>, RouteError> {
    routes(&[("r", "*", &format!("key = '''{expression}'''"))]).identify(&event("push", data))
}

fn kind<T: std::fmt::Debug>(result: Result<T, RouteError>) -> RouteErrorKind {
    let error = result.expect_err("it fails");
    assert_eq!(error.route, "r");
    error.kind
}

/// ROUTE-06 ROUTE-08
#[test]
fn the_first_match_decides_and_later_routes_are_not_tried() {
    let routes = routes(&[
        ("other", "issues.*", ""),
        ("false", "push", "when = 'event.data.n > 5'"),
        ("first", "pu*", "when = 'event.data.n == 5'"),
        ("second", "*", "when = '1 / 0 == 1'"),
    ]);
    let decision = routes.evaluate(&keyed("push", json!({ "n": 5 })), None).expect("it decides");
    assert_eq!(decision.route.as_deref(), Some("first"));
    assert_eq!(decision.kind.as_deref(), Some("review"));
    let why: Vec<Why> = decision.tried.into_iter().map(|tried| tried.why).collect();
    assert_eq!(why, [Why::OtherType, Why::WhenFalse, Why::Matched]);
}

/// ROUTE-09
#[test]
fn an_error_ends_the_evaluation_although_a_later_route_would_match() {
    let routes = routes(&[("r", "*", "when = 'event.data.a + 1 == 2'"), ("later", "*", "")]);
    let result = routes.evaluate(&keyed("push", json!({ "a": "text" })), None);
    assert_eq!(kind(result).code(), "expression_type");
}

/// ROUTE-10 ROUTE-25 OURS-04
#[test]
fn an_event_without_a_key_matches_no_route_that_asks_for_one_and_the_reason_is_recorded() {
    let routes = acting(&[("k", "work", "key = 'null'"), ("u", "update", ""), ("c", "close", "")]);
    let decision = routes.evaluate(&event("push", json!({})), None).expect("it decides");
    assert_eq!((decision.route, decision.action), (None, RouteAction::Decline));
    assert!(decision.tried.iter().all(|tried| tried.why == Why::NoKey), "{:?}", decision.tried);
    assert_eq!(decision.tried.len(), 3);
}

/// ROUTE-24
#[test]
fn a_route_that_asks_for_no_key_takes_an_event_without_one() {
    for action in ["work", "drop"] {
        let routes = acting(&[("r", action, "")]);
        let decision = routes.evaluate(&event("push", json!({})), None).expect("it decides");
        assert_eq!(decision.route.as_deref(), Some("r"), "{action}");
        assert_eq!(decision.kind.is_some(), action == "work");
    }
}

/// ROUTE-23
#[test]
fn an_event_that_names_its_work_needs_no_key() {
    for action in ["work", "update", "close", "drop"] {
        let routes = acting(&[("r", action, "key = 'null'")]);
        let work = work(WorkStatus::Ready);
        let decision = routes.evaluate(&event("push", json!({})), Some(&work));
        assert_eq!(decision.expect("it decides").route.as_deref(), Some("r"), "{action}");
    }
}

/// OURS-01 OURS-02
#[test]
fn a_route_decides_what_it_says_it_does() {
    let expected = [
        ("work", RouteAction::Work),
        ("update", RouteAction::Update),
        ("drop", RouteAction::Drop),
        ("close", RouteAction::Close),
    ];
    for (word, action) in expected {
        let decision = acting(&[("r", word, ""), ("later", "drop", "")])
            .evaluate(&keyed("push", json!({})), None)
            .expect("it decides");
        assert_eq!((decision.action, decision.tried.len()), (action, 1), "{word}");
    }
}

/// ROUTE-24 OWN-07
#[test]
fn keys_to_attach_are_read_once_each_and_nothing_is_none() {
    let attach = |expression: &str, data: Value| {
        let routes = acting(&[("r", "work", &format!("attach = '''{expression}'''"))]);
        let decision = routes.evaluate(&event("push", data), None)?;
        assert_eq!(decision.route.as_deref(), Some("r"));
        Ok::<_, RouteError>(decision.attach)
    };
    let refs = json!([{ "id": "a" }, { "id": "b" }, { "id": "a" }, { "id": "" }]);
    let data = json!({ "n": 7, "refs": refs });
    let listed = attach("event.data.refs.map(r, r.id)", data.clone());
    assert_eq!(listed, Ok(vec!["a".to_owned(), "b".to_owned()]));
    let made = attach("[string(event.data.n), 'pr/' + string(event.data.n)]", data.clone());
    assert_eq!(made, Ok(vec!["7".to_owned(), "pr/7".to_owned()]));
    for nothing in ["null", "[]", "event.data.none.map(r, r.id)", "event.data.none"] {
        assert_eq!(attach(nothing, data.clone()), Ok(Vec::new()), "{nothing}");
    }
    let code = |result| kind(result).code();
    assert_eq!(code(attach("event.data.n", data.clone())), "expression_result");
    assert_eq!(code(attach("[event.data.n]", data)), "expression_result");
    let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
    let long = json!({ "l": [["x".repeat(2000)]], "many": many });
    assert_eq!(code(attach("event.data.l[0]", long.clone())), "expression_size");
    assert_eq!(code(attach("event.data.many", long)), "expression_size");
}

#[test]
fn what_to_attach_may_depend_on_the_work() {
    let routes = acting(&[("r", "update", "attach = 'work.keys.map(k, k.id)'")]);
    let work = work(WorkStatus::Ready);
    let decision = routes.evaluate(&keyed("push", json!({})), Some(&work)).expect("it decides");
    assert_eq!(decision.attach, ["k"]);
}

/// TERM-03 TERM-08
#[test]
fn only_a_type_its_kind_names_reopens_ended_work() {
    let kind = "[scope.\"main\".kind.review]\nreopen = [\"pr.re*\"]";
    let text = SMALL.replace("[scope.\"main\".kind.review]", kind);
    let routes = valid(&text).scopes["main"].handler.clone();
    let reopen = |event_type: &str, status| {
        let event = keyed(event_type, json!({ "number": 1 }));
        routes.evaluate(&event, Some(&work(status))).expect("it decides").reopen
    };
    assert!(reopen("pr.reopened", WorkStatus::Completed));
    assert!(reopen("pr.reopened", WorkStatus::Cancelled));
    assert!(!reopen("pr.reopened", WorkStatus::Ready), "it has not ended");
    assert!(!reopen("pr.closed", WorkStatus::Completed));
    let other = WorkView { kind: "other".into(), ..work(WorkStatus::Completed) };
    let event = keyed("pr.reopened", json!({ "number": 1 }));
    assert!(!routes.evaluate(&event, Some(&other)).expect("it decides").reopen);
}

#[test]
fn no_pattern_means_what_core_says() {
    let routes = routes(&[("all", "*", ""), ("core", "c*e.turn.*", "")]);
    let taken = |event_type: &str| {
        routes.evaluate(&keyed(event_type, json!({})), None).expect("it decides").route
    };
    assert_eq!(taken("push").as_deref(), Some("all"));
    assert_eq!(taken("core.turn.ended"), None);
    assert_eq!(taken("core.work.created"), None);
}

/// ROUTE-13
#[test]
fn equal_views_give_equal_decisions() {
    let routes = routes(&[("r", "*", "when = 'event.data.n > 1'"), ("s", "*", "")]);
    let event = keyed("push", json!({ "n": 1 }));
    let first = routes.evaluate(&event, None).expect("it decides");
    assert_eq!(routes.evaluate(&event, None).expect("it decides"), first);
}

/// The crate's own conversion gives `uint`, and `uint + int` has no meaning in CEL.
#[test]
fn integers_of_a_payload_are_int() {
    let data = json!({ "n": 5, "big": u64::MAX, "f": 1.5 });
    assert_eq!(when("event.data.n + 1 == 6", data.clone()), Ok(Why::Matched));
    assert_eq!(when("type(event.data.n) == int", data.clone()), Ok(Why::Matched));
    assert_eq!(when("event.data.big == 18446744073709551615u", data.clone()), Ok(Why::Matched));
    assert_eq!(key("string(event.data.n)", data.clone()), Ok(Some("5".into())));
    assert_eq!(when("event.data.f > 1.0", data), Ok(Why::Matched));
}

/// OURS-04
#[test]
fn a_when_that_reads_an_absent_field_does_not_match() {
    let data = json!({ "a": null, "l": [1] });
    let absent = |why: &str| Ok(Why::AbsentField(why.into()));
    assert_eq!(when("event.data.b == 1", data.clone()), absent("b"));
    assert_eq!(when("event.data.b.c.d == 1", data.clone()), absent("b"));
    assert_eq!(when("event.data.a.b == 1", data.clone()), absent("a field of null"));
    assert_eq!(when("event.data['b'] == 1", data.clone()), absent("b"));
    let beyond = absent("an element beyond the end");
    assert_eq!(when("event.data.l[1] == 1", data.clone()), beyond);
    assert_eq!(when("work.status == 'ready'", data.clone()), absent("a field of null"));
    // CEL's own rule: what decides without the absent field decides.
    assert_eq!(when("event.data.b == 1 || true", data.clone()), Ok(Why::Matched));
    assert_eq!(when("!has(event.data.b)", data), Ok(Why::Matched));
}

/// OURS-04
#[test]
fn a_type_error_is_an_error_of_the_handler() {
    let data = json!({ "s": "text", "n": 1 });
    for expression in
        ["event.data.s < 1", "event.data.s.x == 1", "event.data.n / 0 == 1", "event.data.s"]
    {
        assert!(when(expression, data.clone()).is_err(), "{expression}");
    }
    assert_eq!(kind(when("event.data.n", data.clone())).code(), "expression_result");
    assert_eq!(kind(key("event.data.n", data)).code(), "expression_result");
}

#[test]
fn an_error_does_not_repeat_the_payload() {
    let error = kind(when("event.data.s + 1 == 2", json!({ "s": "a private matter" })));
    assert!(!error.to_string().contains("private"), "{error}");
}

/// OURS-04
#[test]
fn a_key_that_is_null_empty_or_absent_is_none() {
    let data = json!({ "a": null, "e": "", "t": "x" });
    for none in ["null", "event.data.a", "event.data.e", "event.data.z", "string(event.data.z)"] {
        assert_eq!(key(none, data.clone()), Ok(None), "{none}");
    }
    assert_eq!(key("event.data.t", data.clone()), Ok(Some("x".into())));
    assert!(key("string(event.data.a)", data).is_err());
}

#[test]
fn a_key_over_the_limit_is_an_error() {
    let data = json!({ "long": "x".repeat(2000) });
    assert_eq!(kind(key("event.data.long", data)).code(), "expression_size");
}

#[test]
fn the_first_route_that_gives_a_key_identifies_the_event() {
    let routes = routes(&[
        ("type", "issues.*", "key = '\"never\"'"),
        ("false", "*", "when = 'event.data.n == 2'\nkey = '\"false\"'"),
        ("none", "*", ""),
        ("null", "*", "key = 'null'"),
        ("late", "*", "when = 'work != null'\nkey = '\"late\"'"),
        ("last", "*", "key = '\"last\"'"),
    ]);
    let found = routes.key_of(&event("push", json!({ "n": 1 }))).expect("it decides");
    assert_eq!(found, Some(("late".into(), "late".into())));
}

/// OURS-04
#[test]
fn a_when_on_the_work_is_decided_once_there_is_one() {
    let routes = routes(&[
        ("running", "*", "when = 'work.status == \"running\" && work.attempt == 2'"),
        ("any", "*", ""),
    ]);
    let event = keyed("push", json!({}));
    let route = |work: Option<&WorkView>| {
        routes.evaluate(&event, work).expect("it decides").route.expect("one matches")
    };
    assert_eq!(route(None), "any");
    assert_eq!(route(Some(&work(WorkStatus::Ready))), "any");
    assert_eq!(route(Some(&work(WorkStatus::Running))), "running");
}

#[test]
fn every_name_of_the_contract_can_be_read() {
    let all = "event.id.startsWith('evt_') && event.seq == 7 && event.source == 'test:1' && \
               event.type == 'push' && event.key.id == 'k' && event.subject == null && \
               event.time == null && event.actor == null && event.trust == null && \
               !event.self && event.data == null && work.id.startsWith('work_') && \
               work.kind == 'review' && work.status == 'ready' && work.attempt == 2 && \
               work.keys.exists(k, k.id == 'k' && k.source == 'test:1') && scope == 'main' && \
               route.config.level == 3";
    let lines = format!("config = {{ level = 3 }}\nwhen = '''{all}'''");
    let routes = routes(&[("r", "*", &lines)]);
    let decision = routes.evaluate(&keyed("push", Value::Null), Some(&work(WorkStatus::Ready)));
    assert_eq!(decision.expect("it decides").tried[0].why, Why::Matched);
}

#[test]
fn every_function_that_is_offered_exists() {
    for expression in [
        "size(event.data.s) == 3 && event.data.s.contains('b') && event.data.s.startsWith('a')",
        "event.data.s.endsWith('c') && event.data.s.matches('^a.c$') && bool('true')",
        "int('1') == 1 && uint(1) == 1u && double('1') == 1.0 && string(1) == '1'",
        "bytes('a') == b'a' && type(1) == int && dyn(1) == 1",
        "timestamp('2026-01-31T12:30:15.5Z').getFullYear() == 2026",
        "timestamp('2026-01-31T12:30:15.5Z').getMonth() == 0",
        "timestamp('2026-01-31T12:30:15.5Z').getDate() == 31",
        "timestamp('2026-01-31T12:30:15.5Z').getDayOfMonth() == 30",
        "timestamp('2026-01-31T12:30:15.5Z').getDayOfWeek() == 6",
        "timestamp('2026-01-31T12:30:15.5Z').getDayOfYear() == 30",
        "timestamp('2026-01-31T12:30:15.5Z').getHours() == 12",
        "timestamp('2026-01-31T12:30:15.5Z').getMinutes() == 30",
        "timestamp('2026-01-31T12:30:15.5Z').getSeconds() == 15",
        "timestamp('2026-01-31T12:30:15.5Z').getMilliseconds() == 500",
        "duration('90s').getMinutes() == 1 && duration('1h') > duration('1m')",
        "event.data.l.all(x, x > 0) && event.data.l.exists_one(x, x == 1)",
        "event.data.l.map(x, x + 1) == [2, 3] && event.data.l.filter(x, x > 1) == [2]",
    ] {
        let data = json!({ "s": "abc", "l": [1, 2] });
        assert_eq!(when(expression, data), Ok(Why::Matched), "{expression}");
    }
}

/// OURS-12
#[test]
fn an_event_of_our_own_account_gets_no_key_and_tries_no_route() {
    let routes = routes(&[("r", "*", "key = '\"k\"'")]);
    let sender = Sender { is_self: true, ..Sender::default() };
    let event = EventView { sender, ..keyed("push", json!({})) };
    assert_eq!(routes.identify(&event), Ok(None));
    let decision = routes.evaluate(&event, None).expect("it decides");
    assert_eq!((decision.route, decision.tried), (None, Vec::new()));
}

#[test]
fn a_list_that_is_too_long_is_an_error_only_for_who_reads_it() {
    let data = json!({ "n": 1, "long": vec![1; LIST_MAX + 1] });
    assert_eq!(when("event.data.n == 1", data.clone()), Ok(Why::Matched));
    for reads in
        ["event.data.long.exists(x, x == 1)", "size(event.data.long) > 1", "1 in event.data.long"]
    {
        assert_eq!(kind(when(reads, data.clone())).code(), "expression_size", "{reads}");
    }
    let data = json!({ "long": vec![1; LIST_MAX] });
    assert_eq!(when("size(event.data.long) == 10000", data), Ok(Why::Matched));
}

#[test]
fn an_evaluation_is_abandoned_at_its_deadline() {
    let slow = "when = '''event.data.long.exists(x, event.data.text.contains(x))'''";
    let routes = routes(&[("r", "*", slow)]).with_deadline(Duration::from_millis(1));
    let data = json!({ "text": "a".repeat(100_000), "long": vec!["ab"; LIST_MAX] });
    let error = routes.evaluate(&keyed("push", data), None).expect_err("it is abandoned");
    assert_eq!(error.kind, RouteErrorKind::Deadline { ms: 1 });
}

#[test]
fn the_deepest_expression_that_compiles_evaluates() {
    let sum = format!("1{} == 60", "+1".repeat(59));
    assert_eq!(when(&sum, json!({})), Ok(Why::Matched));
    let nested = format!("{}true{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(when(&nested, json!({})), Ok(Why::Matched));
}
