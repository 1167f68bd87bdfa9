//! The worlds themselves, small before large in each area.

use crate::action::{Kind, Mark};
use crate::index::{WaitIx, WorkIx};
use crate::worlds::{Binding, Delivery, Visit, WaitDef, When, WorkDef, World};

macro_rules! worlds {
    ($($(#[$doc:meta])* $name:ident = $def:expr;)*) => {
        $($(#[$doc])* pub const $name: &World = &$def;)*

        /// Every world, small before large.
        pub const ALL: &[&World] = &[$($name,)*];

        /// Runs generic code over a world with the sizes of its state.
        ///
        /// # Panics
        /// If the world is not one of [`ALL`].
        pub fn visit<V: Visit>(world: &'static World, visitor: V) -> V::Out {
            $(if world.name == $name.name {
                return visitor.visit::<{ $name.works.len() }, { $name.slots() }, { $name.waits.len() }>(world);
            })*
            unreachable!("a world outside the list: {}", world.name)
        }
    };
}

const RESUMES: Binding = Binding { name: "agent", resumes: true, holds: false };
const RUNS_ONCE: Binding = Binding { name: "shell", resumes: false, holds: false };
const HELD: Binding = Binding { name: "keeper", resumes: false, holds: true };

/// A delivery of its own identity, with a key and a matching route.
const fn keyed(name: &'static str, key: u8, proposes: u8) -> Delivery {
    Delivery {
        name,
        identity: name,
        kind: 0,
        core: false,
        key: Some(key),
        target: None,
        scope: 0,
        routed: true,
        proposes: Some(WorkIx(proposes)),
        when: When::Always,
    }
}

/// A delivery that says nothing of any Work.
const fn keyless(name: &'static str) -> Delivery {
    Delivery { key: None, proposes: None, ..keyed(name, 0, 0) }
}

const fn work(name: &'static str, binding: Binding) -> WorkDef {
    WorkDef { name, binding }
}

const ROUTING: &[Kind] =
    &[Kind::Accept, Kind::Evaluate, Kind::CommitRoute, Kind::Crash, Kind::Cancel];

const RUNNING: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Renew,
    Kind::Complete,
    Kind::Fail,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
    Kind::Tick,
];

const WAITING: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::ClaimRecovery,
    Kind::SettleRecovery,
    Kind::RegisterWait,
    Kind::Wake,
    Kind::FireTimer,
    Kind::AcceptTimeout,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
    Kind::Tick,
];

const EVERY_MARK: &[Mark] = &[Mark::Start, Mark::Batch, Mark::Latest, Mark::Beyond];

/// A wait of the first Work on its first key, passing results only, without a timeout.
const CI: WaitDef = WaitDef {
    name: "ci",
    work: WorkIx(0),
    keys: &[0],
    types: &[1],
    timeout: None,
    after: &[Mark::Start, Mark::Latest],
};

/// A wait of the first Work that only its timeout ends.
const PAUSE: WaitDef = WaitDef {
    name: "pause",
    keys: &[],
    types: &[],
    timeout: Some(2),
    after: &[Mark::Latest],
    ..CI
};

/// A wait on a key that the first Work never owns.
const FOREIGN: WaitDef = WaitDef { name: "foreign", keys: &[0, 1], after: &[Mark::Latest], ..CI };

/// A wait that nothing could end.
const ENDLESS: WaitDef = WaitDef { name: "endless", keys: &[], after: &[Mark::Latest], ..CI };

/// A result for the first Work, which a sender has once an attempt of it started.
const fn result(name: &'static str) -> Delivery {
    Delivery { kind: 1, when: When::Started(WorkIx(0)), ..keyed(name, 0, 0) }
}

const WAIT_DELIVERIES: &[Delivery] = &[
    keyed("start", 0, 0),
    result("green"),
    result("red"),
    Delivery { kind: 0, when: When::Registered(WaitIx(0)), ..result("chatter") },
];

const WAIT_DEFS: &[WaitDef] =
    &[WaitDef { timeout: Some(1), after: EVERY_MARK, ..CI }, FOREIGN, ENDLESS];

/// Waiting without a clock: nothing expires, so nothing needs recovery.
const WAITING_UNTIMED: &[Kind] = &[
    Kind::Accept,
    Kind::Evaluate,
    Kind::CommitRoute,
    Kind::Claim,
    Kind::ClearNeverHanded,
    Kind::Pin,
    Kind::Complete,
    Kind::RegisterWait,
    Kind::Wake,
    Kind::FireTimer,
    Kind::AcceptTimeout,
    Kind::Vacate,
    Kind::ProcessExits,
    Kind::Cancel,
];

worlds! {
    /// Deliveries against keys, scopes and the order of one Work.
    ACCEPTANCE = World {
        name: "acceptance",
        shows: "deliveries for one key race to own it, in two scopes, with a repeated identity, a crash and a cancel",
        scopes: &["main", "other"],
        keys: &["issue/1"],
        types: &["note"],
        deliveries: &[
            keyed("first", 0, 0),
            keyed("second", 0, 1),
            keyed("third", 0, 0),
            Delivery { identity: "first", ..keyless("repeat") },
            Delivery { scope: 1, ..keyed("abroad", 0, 2) },
        ],
        works: &[work("fix", RUNS_ONCE), work("fix-too", RUNS_ONCE), work("abroad", RUNS_ONCE)],
        waits: &[],
        lease: 1,
        capacity: 1,
        depth_max: 3,
        offers: ROUTING,
    };
    /// Deliveries that name a Work, have no key or find no route.
    TARGETS = World {
        name: "targets",
        shows: "deliveries that name a Work, contradict it, have no key, find no route or forge a core type",
        scopes: &["main", "other"],
        keys: &["issue/1", "issue/2"],
        types: &["note", "core.retry.due"],
        deliveries: &[
            keyed("first", 0, 0),
            Delivery { key: None, target: Some(WorkIx(0)), proposes: None, ..keyed("named", 0, 0) },
            Delivery { target: Some(WorkIx(0)), routed: false, ..keyed("agreeing", 0, 0) },
            keyless("stray"),
            Delivery { routed: false, ..keyed("unwanted", 1, 0) },
            Delivery { target: Some(WorkIx(0)), ..keyed("contradiction", 1, 0) },
            Delivery { target: Some(WorkIx(0)), scope: 1, ..keyless("trespass") },
            Delivery { kind: 1, core: true, ..keyless("forged") },
        ],
        works: &[work("fix", RUNS_ONCE)],
        waits: &[],
        lease: 1,
        capacity: 1,
        depth_max: 3,
        offers: ROUTING,
    };
    /// Claims, leases, recovery and cancellation.
    ATTEMPTS = World {
        name: "attempts",
        shows: "two Works share one place; leases end in every phase, recoveries race, input arrives, cancels strike",
        scopes: &["main"],
        keys: &["issue/1", "issue/2"],
        types: &["note"],
        deliveries: &[
            keyed("fix-it", 0, 0),
            Delivery { when: When::Started(WorkIx(0)), ..keyed("and-this", 0, 0) },
            Delivery { when: When::Started(WorkIx(0)), ..keyed("and-that", 0, 0) },
            keyed("ship-it", 1, 1),
        ],
        works: &[work("fix", RUNS_ONCE), work("ship", HELD)],
        waits: &[],
        lease: 2,
        capacity: 1,
        depth_max: 3,
        offers: RUNNING,
    };
    /// A resumable Work, a match, a timer.
    WAITS = World {
        name: "waits",
        shows: "match, timeout, cancel and registration in every order, for an attempt that resumes",
        scopes: &["main"],
        keys: &["ci/1", "ci/2"],
        types: &["note", "result"],
        deliveries: WAIT_DELIVERIES,
        works: &[work("fix", RESUMES)],
        waits: WAIT_DEFS,
        lease: 1,
        capacity: 2,
        depth_max: 5,
        offers: WAITING,
    };
    /// The same for an attempt that ends as it waits.
    WAITS_NEXT_ATTEMPT = World {
        name: "waits-next-attempt",
        shows: "the same for an attempt that ends when it waits, so that the wake starts the next one",
        deliveries: &[keyed("start", 0, 0), result("green"), result("red")],
        works: &[work("fix", RUNS_ONCE)],
        ..*WAITS
    };
    /// No timer hides a lost wake here.
    WAITS_NO_TIMERS = World {
        name: "waits-no-timers",
        shows: "two Works wait without timeouts, so that no timer hides a lost wake",
        scopes: &["main"],
        keys: &["ci/1", "ci/2"],
        types: &["note", "result"],
        deliveries: &[
            keyed("start", 0, 0),
            result("green"),
            keyed("other", 1, 1),
            Delivery { kind: 1, when: When::Started(WorkIx(1)), ..keyed("blue", 1, 1) },
        ],
        works: &[work("fix", RESUMES), work("ship", RUNS_ONCE)],
        waits: &[CI, WaitDef { name: "deploy", work: WorkIx(1), keys: &[1], after: &[Mark::Start], ..CI }],
        lease: 1,
        capacity: 1,
        depth_max: 5,
        offers: WAITING_UNTIMED,
    };
    /// A wait after a wait.
    PAUSES = World {
        name: "pauses",
        shows: "one wait follows another: a pause that only its timeout ends, and a wait for a result",
        deliveries: &[keyed("start", 0, 0), result("green")],
        waits: &[PAUSE, WaitDef { timeout: Some(1), ..CI }],
        ..*WAITS
    };
    /// Chains end at their limit.
    DEPTH = World {
        name: "depth",
        shows: "a root allows one derivation: a timeout is refused, and so is the continuation of one",
        scopes: &["main"],
        keys: &["ci/1"],
        types: &["note", "result"],
        deliveries: &[keyed("start", 0, 0), result("green"), result("red")],
        works: &[work("fix", RESUMES)],
        waits: &[
            WaitDef { timeout: Some(1), ..CI },
            WaitDef { name: "again", timeout: Some(1), after: &[Mark::Latest], ..CI },
        ],
        lease: 1,
        capacity: 1,
        depth_max: 1,
        offers: WAITING,
    };
}
