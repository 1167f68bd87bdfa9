//! Every world exhausts, to the same counts in both explorers, and together they reach every case there is.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use abide_model::action::{Action, Authority, Commit, Ending, Kind};
use abide_model::checker::second_opinion;
use abide_model::classes::{Representative, class_of, classes, covering};
use abide_model::graph::{Counts, Graph, explore};
use abide_model::index::{Proofs, WorkIx};
use abide_model::law::Law;
use abide_model::mutants::Mutant;
use abide_model::outcome::{Deferral, Outcome, Refusal};
use abide_model::saturation::saturation;
use abide_model::state::{Facts, State};
use abide_model::trace::Trace;
use abide_model::view::view;
use abide_model::worlds::{ALL, Visit, World, visit};

/// World, states, transitions, depth, classes. A change here is a change of the law or of a world, and says so.
const PINNED: &[(&str, usize, usize, usize, usize)] = &[
    ("acceptance", 17_096, 58_593, 12, 48),
    ("targets", 12_575, 46_753, 16, 58),
    ("identities", 5_669, 22_338, 17, 60),
    ("routing", 116_735, 563_427, 18, 128),
    ("ownership", 281_312, 842_015, 20, 96),
    ("attempts", 76_255, 351_730, 36, 357),
    ("waits", 297_393, 880_038, 41, 1_005),
    ("waits-next-attempt", 20_837, 52_742, 34, 1_006),
    ("wait-no-timers", 139_070, 428_631, 34, 322),
    ("pauses", 8_654, 19_168, 36, 568),
    ("depth", 16_378, 42_059, 30, 852),
    ("wait-races", 28_941, 82_339, 39, 961),
    ("aliases", 17_110, 52_759, 35, 204),
    ("subscriptions", 50_388, 184_118, 26, 319),
    ("bursts", 4_952, 13_615, 37, 253),
    ("endings", 5_417, 22_299, 30, 390),
    ("standing", 3_502, 12_039, 18, 530),
    ("terminal", 47_873, 123_379, 20, 140),
    ("going-on", 17_746, 45_365, 32, 308),
    ("configuration", 34_123, 102_365, 28, 385),
    ("composed", 123_581, 463_646, 40, 602),
    ("recovery", 65_315, 250_270, 53, 378),
    ("retry", 49_870, 160_844, 43, 517),
    ("policies", 6_160, 12_155, 43, 425),
    ("exhaustion", 3_901, 8_698, 39, 351),
    ("second-thoughts", 7_843, 20_376, 29, 352),
    ("hints", 10_032, 26_338, 33, 439),
    ("retry-limit", 30_502, 86_926, 42, 628),
    ("cancel", 28_479, 73_667, 37, 828),
    ("deadlines", 13_462, 42_495, 36, 265),
    ("restore", 33_865, 84_936, 27, 581),
    ("restored-failures", 1_344, 3_033, 23, 322),
    ("restored-clocks", 1_960, 4_026, 27, 498),
    ("crash-grain", 21_154, 97_066, 46, 433),
    ("inject", 3_749, 8_197, 29, 515),
    ("interrupt", 22_634, 51_627, 34, 726),
    ("completion", 11_464, 28_825, 33, 493),
    ("fallback", 80_393, 189_267, 36, 721),
    ("steer-and-recover", 135_166, 473_452, 41, 696),
    ("steer-and-wait", 48_413, 99_900, 34, 990),
    ("steer-and-retry", 10_391, 23_593, 32, 779),
    ("pinned-controls", 21_402, 44_521, 31, 550),
    ("interrupted-failures", 4_027, 9_557, 28, 584),
    ("steer-and-end", 51_180, 111_366, 37, 763),
    ("steered-restore", 3_148, 6_920, 25, 489),
    ("steer-one-of-two", 5_081, 14_258, 28, 318),
];

struct Explored;

struct Report {
    world: &'static str,
    counts: Counts,
    found: Vec<Representative>,
    shown: usize,
    traces: Vec<Vec<Action>>,
    killed: BTreeSet<Mutant>,
}

/// Every world, explored once for all tests.
static REPORTS: LazyLock<Vec<Report>> =
    LazyLock::new(|| ALL.iter().map(|world| visit(world, Explored)).collect());

impl Visit for Explored {
    type Out = Report;

    fn visit<const W: usize, const E: usize, const T: usize>(
        self,
        world: &'static World,
    ) -> Report {
        let graph: Graph<State<W, E, T>> = explore(Law::of(world));
        let found = classes(&graph);
        let traces = covering(&graph, &found);
        let mut shown = BTreeSet::new();
        for trace in &traces {
            let mut state = State::<W, E, T>::new();
            for action in trace {
                let (outcome, after) = graph.law().step(&state, *action);
                shown.insert(class_of(world, &state, *action, outcome));
                state = after;
            }
        }
        let parts =
            |mutant: &Mutant| traces.iter().any(|trace| parts_on::<W, E, T>(world, *mutant, trace));
        let killed = Mutant::ALL.iter().copied().filter(parts).collect();
        Report {
            world: world.name,
            counts: graph.counts(),
            found,
            shown: shown.len(),
            traces,
            killed,
        }
    }
}

fn sort_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted(_) => "accepted",
        Outcome::Duplicate(_) => "duplicate",
        Outcome::Deferred(_) => "deferred",
        Outcome::Conflict => "conflict",
        Outcome::Refused(_) => "refused",
    }
}

#[test]
fn every_world_has_its_pinned_size() {
    let found: Vec<_> = REPORTS
        .iter()
        .map(|report| {
            let Counts { states, transitions, depth } = report.counts;
            (report.world, states, transitions, depth, report.found.len())
        })
        .collect();
    assert_eq!(found, PINNED);
}

#[test]
fn every_world_is_pinned_once_and_reaches_cases() {
    let worlds: Vec<&str> = ALL.iter().map(|world| world.name).collect();
    let pinned: Vec<&str> = PINNED.iter().map(|pinned| pinned.0).collect();
    assert_eq!(worlds, pinned);
    let caseless = PINNED.iter().filter(|(_, _, _, _, classes)| *classes == 0);
    assert_eq!(caseless.count(), 0, "no world is without cases");
}

#[test]
fn both_explorers_count_alike() {
    for world in ALL {
        let name = world.name;
        let pinned = PINNED.iter().find(|pinned| pinned.0 == name);
        let Some(&(_, states, transitions, depth, _)) = pinned else {
            panic!("{name} is not pinned");
        };
        let second = second_opinion(Law::of(world), 1);
        assert_eq!(second.counts, Counts { states, transitions, depth }, "{name}");
        assert!(second.violated.is_empty(), "{name}: {:?}", second.violated);
        assert!(second.unreached.is_empty(), "{name}: {:?}", second.unreached);
    }
}

#[test]
fn every_action_and_every_answer_is_reached_in_some_world() {
    let found = || REPORTS.iter().flat_map(|report| &report.found);
    let reached = |code: &str| found().any(|one| one.outcome.code() == code);
    let kinds = Kind::ALL
        .iter()
        .filter(|kind| !found().any(|one| one.transition && one.class.kind == **kind));
    let refusals = Refusal::ALL.iter().map(|refusal| refusal.code()).filter(|code| !reached(code));
    let deferrals =
        Deferral::ALL.iter().map(|deferral| deferral.code()).filter(|code| !reached(code));
    let missing: Vec<&str> =
        kinds.map(|kind| kind.name()).chain(refusals).chain(deferrals).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let sorts: BTreeSet<&str> = found().map(|one| sort_of(one.outcome)).collect();
    assert_eq!(sorts.len(), 5, "{sorts:?}");
}

/// Whether a broken law answers otherwise than the law, or shows another view, somewhere on a trace.
fn parts_on<const W: usize, const E: usize, const T: usize>(
    world: &'static World,
    mutant: Mutant,
    trace: &[Action],
) -> bool {
    let (law, broken) = (Law::of(world), Law::breaking(world, mutant));
    let (mut right, mut wrong) = (State::<W, E, T>::new(), State::<W, E, T>::new());
    trace.iter().any(|action| {
        let (expected, after) = law.step(&right, *action);
        let (answered, seen) = broken.step(&wrong, *action);
        (right, wrong) = (after, seen);
        // What becomes of processes, and of what they are sent, is no part of a view.
        let shows = |state: &State<W, E, T>| {
            let processes = state.works().iter().map(|work| work.process).collect::<Vec<_>>();
            let events = state.events().iter();
            let messages = events.map(|event| event.intent.message).collect::<Vec<_>>();
            (view(world, state), processes, messages)
        };
        expected != answered || (after != seen && shows(&after) != shows(&seen))
    })
}

#[test]
fn a_corpus_of_classes_is_small_and_tells_every_broken_law_from_the_law() {
    for corpus in REPORTS.iter() {
        assert_eq!(
            corpus.shown,
            corpus.found.len(),
            "{}: the corpus shows every class",
            corpus.world
        );
        assert!(
            corpus.traces.len() * 2 < corpus.found.len(),
            "{}: a trace shows several classes",
            corpus.world
        );
    }
    let survives = |mutant: &&Mutant| !REPORTS.iter().any(|corpus| corpus.killed.contains(mutant));
    let survivors: Vec<&str> =
        Mutant::ALL.iter().filter(survives).map(|mutant| mutant.name()).collect();
    assert!(survivors.is_empty(), "a fact is missing from the classes: {survivors:?}");
}

/// The others take a minute: `abide-model saturation`.
#[test]
fn the_next_larger_bound_of_a_small_world_shows_no_new_case() {
    for name in [
        "identities",
        "pauses",
        "depth",
        "endings",
        "standing",
        "configuration",
        "policies",
        "exhaustion",
        "second-thoughts",
        "hints",
        "deadlines",
        "restored-failures",
        "restored-clocks",
        "inject",
        "completion",
        "steer-and-wait",
        "steer-and-retry",
        "steer-and-end",
        "steered-restore",
        "steer-one-of-two",
        "interrupted-failures",
    ] {
        let world = abide_model::worlds::named(name).expect("a world of that name");
        let found = saturation(world).expect("each world has a larger bound");
        assert!(found.larger_counts.states > found.counts.states, "{name}: the bound is larger");
        assert!(found.only_larger.is_empty(), "{name}: {:?}", found.only_larger);
    }
}

#[test]
fn worlds_are_consistent() {
    for world in ALL {
        assert!(world.keys.len() <= 8, "{}: a Work keeps its keys in one byte", world.name);
        for delivery in world.deliveries {
            assert!(
                usize::from(delivery.kind) < world.types.len(),
                "{}: {}",
                world.name,
                delivery.name
            );
            assert!(
                usize::from(delivery.scope) < world.scopes.len(),
                "{}: {}",
                world.name,
                delivery.name
            );
            assert!(
                delivery.decides.proposes.is_none_or(|work| work.at() < world.works.len()),
                "{}",
                delivery.name
            );
        }
        for policy in
            world.kinds.iter().flat_map(|kind| [Some(kind.retry), kind.reloaded]).flatten()
        {
            let given = policy.steps.len() + 1 >= usize::from(policy.budget);
            assert!(given, "{}: a step for each failure but the last", world.name);
            assert!(policy.steps.iter().all(|step| *step > 0), "{}: no retry at once", world.name);
        }
        for wait in world.waits {
            let readable = wait.source.is_none_or(|source| {
                usize::from(source.scope) < world.scopes.len()
                    && usize::from(source.key) < world.keys.len()
            });
            assert!(readable, "{}: {}", world.name, wait.name);
        }
        let names: BTreeSet<&str> = world.deliveries.iter().map(|delivery| delivery.name).collect();
        assert_eq!(names.len(), world.deliveries.len(), "{}: names are unique", world.name);
    }
}

#[test]
fn every_shared_form_has_a_schema() {
    let line = serde_json::to_value(schemars::schema_for!(abide_model::trace::Line))
        .expect("a schema is JSON");
    let header = serde_json::to_value(schemars::schema_for!(abide_model::trace::Header))
        .expect("a schema is JSON");
    assert!(
        line.to_string().contains("clear_never_handed")
            && line.to_string().contains("stale_authority")
    );
    assert!(header["properties"]["universe"].is_object());
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    let world = abide_model::worlds::named("acceptance").expect("the first world");
    let law = Law::of(world);
    let actions = abide_model::worlds::offered(world, &State::<3, 5, 0>::new());
    let trace = Trace::of(law, &actions);
    let mut bytes = Vec::new();
    trace.write(&mut bytes).expect("writing to memory");
    let read = Trace::read(bytes.as_slice()).expect("what was written");
    assert_eq!(read, trace);
    assert_eq!(read.resolve().expect("names of this world").1, actions);
}

#[test]
fn every_event_that_a_result_names_is_in_its_trace_and_none_is_written_as_nothing() {
    let world = abide_model::worlds::named("inject").expect("a world of that name");
    let complete = |proofs| {
        let (work, by) = (WorkIx(0), Authority::Current);
        let (ending, declares) = (Ending::Completed, false);
        Action::from(Commit::Complete { work, by, ending, declares, proofs })
    };
    let actions = [complete(Proofs::NONE), complete(Proofs::of(&[1, 2]))];
    let mut bytes = Vec::new();
    Trace::of(Law::of(world), &actions).write(&mut bytes).expect("writing to memory");
    let written = String::from_utf8(bytes.clone()).expect("a trace is text");
    let lines: Vec<&str> = written.lines().skip(1).collect();
    assert!(!lines[0].contains("proofs"), "{}", lines[0]);
    assert!(lines[1].contains(r#""proofs":["steer","nudge"]"#), "{}", lines[1]);
    let read = Trace::read(bytes.as_slice()).expect("what was written");
    assert_eq!(read.resolve().expect("names of this world").1, actions);
}

#[test]
fn a_trace_that_names_what_there_is_not_is_refused_with_its_line() {
    let law = Law::of(abide_model::worlds::TARGETS);
    let mut bytes = Vec::new();
    Trace::of(law, &[]).write(&mut bytes).expect("writing to memory");
    bytes.extend_from_slice(b"{\"action\":\"teleport\",\"args\":{},\"outcome\":\"conflict\"}\n");
    let error = Trace::read(bytes.as_slice()).expect_err("there is no such action");
    assert_eq!(error.to_string(), "line 2: there is no action `teleport`");
}
