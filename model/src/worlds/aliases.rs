//! Worlds of dependent Work: what happens elsewhere reaches it under a key of its own.

use crate::action::{Kind, Mark};
use crate::index::{DeliveryIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Decision, Delivery, Of, Source, WaitDef, When, World};

/// A result that no route of its scope wants.
const fn observed(name: &'static str) -> Delivery {
    Delivery { kind: 1, decides: Decision::DECLINES, ..keyed(name, 0, 0) }
}

/// A wait of the first Work for results under a key that is nobody's.
const BUILT: WaitDef = WaitDef {
    name: "built",
    work: WorkIx(0),
    keys: &[1],
    types: &[1],
    timeout: None,
    source: Some(Source { key: 0, scope: 0, events: &[Of::Delivery(2)] }),
    after: &[Mark::Start, Mark::Latest],
};

/// Two dependents of one source.
pub(super) const ALIASES: World = World {
    name: "aliases",
    shows: "two Works depend on one source, one of them from another scope, and each gets an alias of its own",
    scopes: &["main", "reader", "stranger"],
    inside: &[(1, 0)],
    reads: &[(1, 0)],
    keys: &["ci/1", "deploy/1", "report/1"],
    types: &["note", "result"],
    deliveries: &[
        keyed("start-deploy", 1, 0),
        Delivery { scope: 1, when: When::Started(WorkIx(0)), ..keyed("start-report", 2, 1) },
        observed("green"),
    ],
    works: &[work("deploy", RESUMES), work("report", RUNS_ONCE)],
    waits: &[
        BUILT,
        WaitDef { name: "known", work: WorkIx(1), keys: &[2], after: &[Mark::Start], ..BUILT },
        WaitDef {
            name: "secret",
            work: WorkIx(1),
            keys: &[2],
            source: Some(Source { key: 0, scope: 2, events: &[] }),
            after: &[Mark::Start],
            ..BUILT
        },
        WaitDef { name: "keyless", keys: &[], after: &[Mark::Start], ..BUILT },
    ],
    operated: &[],
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::RegisterWait,
        Kind::Translate,
        Kind::Drop,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Complete,
    ],
    ..BARE
};

/// The next larger bound of [`ALIASES`]: room for both Works at once.
pub(super) const ALIASES_LARGER: World = World { name: "aliases-larger", capacity: 2, ..ALIASES };

/// One subscription from its beginning to its end.
pub(super) const SUBSCRIPTIONS: World = World {
    name: "subscriptions",
    shows: "one subscription translates what its source had and gets, in order and within the limit, until its wait is over",
    keys: &["ci/1", "deploy/1"],
    types: &["note", "result"],
    deliveries: &[
        keyed("start", 1, 0),
        Delivery { when: When::Exists(WorkIx(0)), ..observed("red") },
        Delivery { when: When::Exists(WorkIx(0)), ..observed("green") },
        Delivery {
            decides: Decision::DECLINES,
            when: When::Accepted(DeliveryIx(2)),
            ..asks("again", Ask::Replay(Of::Delivery(2)))
        },
    ],
    works: &[work("deploy", RESUMES)],
    waits: &[WaitDef {
        source: Some(Source {
            key: 0,
            scope: 0,
            events: &[Of::Delivery(1), Of::Delivery(2), Of::Delivery(3)],
        }),
        ..BUILT
    }],
    depth_max: 1,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::RegisterWait,
        Kind::Translate,
        Kind::Wake,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Complete,
        Kind::Replay,
        Kind::Cancel,
    ],
    ..BARE
};

/// The next larger bound of [`SUBSCRIPTIONS`]: one more event of the source. It shows twelve cases that three events
/// cannot show: two are translated and unserved while two more are to be translated. Each half is shown there by itself.
pub(super) const SUBSCRIPTIONS_LARGER: World = World {
    name: "subscriptions-larger",
    deliveries: &[
        keyed("start", 1, 0),
        Delivery { when: When::Exists(WorkIx(0)), ..observed("red") },
        Delivery { when: When::Exists(WorkIx(0)), ..observed("green") },
        Delivery {
            decides: Decision::DECLINES,
            when: When::Accepted(DeliveryIx(2)),
            ..asks("again", Ask::Replay(Of::Delivery(2)))
        },
        Delivery { when: When::Accepted(DeliveryIx(3)), ..observed("amber") },
    ],
    waits: &[WaitDef {
        source: Some(Source {
            key: 0,
            scope: 0,
            events: &[Of::Delivery(1), Of::Delivery(2), Of::Delivery(3), Of::Delivery(4)],
        }),
        ..BUILT
    }],
    ..SUBSCRIPTIONS
};

/// One subscription after another.
pub(super) const BURSTS: World = World {
    name: "bursts",
    shows: "a source speaks twice while its dependent waits twice, so that the second wait begins where the first had come",
    keys: &["ci/1", "deploy/1"],
    types: &["note", "result"],
    deliveries: &[
        keyed("start", 1, 0),
        Delivery { when: When::Exists(WorkIx(0)), ..observed("red") },
        Delivery { when: When::Accepted(DeliveryIx(1)), ..observed("green") },
    ],
    works: &[work("deploy", RESUMES)],
    waits: &[
        WaitDef {
            source: Some(Source { key: 0, scope: 0, events: BOTH }),
            after: &[Mark::Start],
            ..BUILT
        },
        WaitDef {
            name: "built-again",
            source: Some(Source { key: 0, scope: 0, events: BOTH }),
            after: &[Mark::Latest],
            ..BUILT
        },
    ],
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Claim,
        Kind::ClearNeverHanded,
        Kind::Pin,
        Kind::RegisterWait,
        Kind::Translate,
        Kind::Vacate,
        Kind::ProcessExits,
        Kind::Complete,
    ],
    ..BARE
};

const BOTH: &[Of] = &[Of::Delivery(1), Of::Delivery(2)];

/// The next larger bound of [`BURSTS`]: another order, in which the source may speak before there is a dependent.
pub(super) const BURSTS_LARGER: World = World {
    name: "bursts-larger",
    deliveries: &[
        keyed("start", 1, 0),
        observed("red"),
        Delivery { when: When::Accepted(DeliveryIx(1)), ..observed("green") },
    ],
    ..BURSTS
};
