//! Worlds of acceptance, routing and ownership: nothing runs in them.

use crate::action::Kind;
use crate::index::{DeliveryIx, WorkIx};
use crate::worlds::parts::*;
use crate::worlds::{Ask, Decision, Delivery, Does, Of, When, WorkKind, World};

/// Deliveries against keys, scopes and the order of one Work.
pub(super) const ACCEPTANCE: World = World {
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
    offers: ROUTES,
    ..BARE
};

/// The next larger bound of [`ACCEPTANCE`]: one more delivery.
pub(super) const ACCEPTANCE_LARGER: World = World {
    name: "acceptance-larger",
    deliveries: &[
        keyed("first", 0, 0),
        keyed("second", 0, 1),
        keyed("third", 0, 0),
        Delivery { identity: "first", ..keyless("repeat") },
        Delivery { scope: 1, ..keyed("abroad", 0, 2) },
        Delivery { when: When::Exists(WorkIx(0)), ..keyed("fourth", 0, 0) },
    ],
    ..ACCEPTANCE
};

/// Deliveries that name a Work, have no key or find no route.
pub(super) const TARGETS: World = World {
    name: "targets",
    shows: "deliveries that name a Work, contradict it, have no key, find no route or forge a core type",
    scopes: &["main", "other"],
    keys: &["issue/1", "issue/2"],
    types: &["note", "core.retry.due"],
    deliveries: &[
        keyed("first", 0, 0),
        Delivery { target: Some(WorkIx(0)), ..keyless("named") },
        Delivery {
            target: Some(WorkIx(0)),
            decides: Decision::DECLINES,
            ..keyed("agreeing", 0, 0)
        },
        keyless("stray"),
        Delivery { decides: Decision::DECLINES, ..keyed("unwanted", 1, 0) },
        Delivery { target: Some(WorkIx(0)), ..keyed("contradiction", 1, 0) },
        Delivery { target: Some(WorkIx(0)), scope: 1, ..keyless("trespass") },
        Delivery { kind: 1, core: true, ..keyless("forged") },
    ],
    works: &[work("fix", RUNS_ONCE)],
    offers: ROUTES,
    ..BARE
};

/// The next larger bound of [`TARGETS`]: one more delivery.
pub(super) const TARGETS_LARGER: World = World {
    name: "targets-larger",
    deliveries: &[
        keyed("first", 0, 0),
        Delivery { target: Some(WorkIx(0)), ..keyless("named") },
        Delivery {
            target: Some(WorkIx(0)),
            decides: Decision::DECLINES,
            ..keyed("agreeing", 0, 0)
        },
        keyless("stray"),
        Delivery { decides: Decision::DECLINES, ..keyed("unwanted", 1, 0) },
        Delivery { target: Some(WorkIx(0)), ..keyed("contradiction", 1, 0) },
        Delivery { target: Some(WorkIx(0)), scope: 1, ..keyless("trespass") },
        Delivery { kind: 1, core: true, ..keyless("forged") },
        Delivery {
            target: Some(WorkIx(0)),
            when: When::Accepted(DeliveryIx(1)),
            ..keyless("named-too")
        },
    ],
    ..TARGETS
};

/// Deliveries that look alike.
pub(super) const IDENTITIES: World = World {
    name: "identities",
    shows: "one identity comes with two bodies, one body under two identities within its window and after; replays go on",
    keys: &["push/1"],
    deliveries: &[
        signed("push", 0),
        Delivery { identity: "push", key: None, ..signed("push-altered", 1) },
        Delivery { when: When::Accepted(DeliveryIx(0)), ..signed("copy", 0) },
        Delivery { when: When::Accepted(DeliveryIx(0)), ..signed("other", 1) },
        Delivery { decides: starts(0), ..asks("again", Ask::Replay(Of::Delivery(2))) },
        Delivery {
            decides: starts(0),
            when: When::Accepted(DeliveryIx(4)),
            ..asks("once-more", Ask::Replay(Of::Delivery(4)))
        },
    ],
    works: &[work("fix", RUNS_ONCE)],
    depth_max: 1,
    suspect_window: 1,
    offers: &[
        Kind::Accept,
        Kind::Evaluate,
        Kind::CommitRoute,
        Kind::Replay,
        Kind::Cancel,
        Kind::Tick,
        Kind::Crash,
    ],
    ..BARE
};

/// The next larger bound of [`IDENTITIES`]: one more tick of the window.
pub(super) const IDENTITIES_LARGER: World =
    World { name: "identities-larger", suspect_window: 2, ..IDENTITIES };

/// A delivery of a sender that signs bodies only.
const fn signed(name: &'static str, body: u8) -> Delivery {
    Delivery { body, signs: Some(0), ..keyed(name, 0, 0) }
}

/// Everything a route can decide.
pub(super) const ROUTING: World = World {
    name: "routing",
    shows: "routes start, update, drop and close one Work, attach a key to it and race for that key with another",
    keys: &["issue/1", "pr/1"],
    kinds: &[PLAIN, REVIEW],
    deliveries: ROUTED,
    works: &[work("fix", RUNS_ONCE), work("review", RUNS_ONCE), work("aside", RUNS_ONCE)],
    offers: &[Kind::Accept, Kind::Evaluate, Kind::CommitRoute, Kind::Drop, Kind::Crash],
    ..BARE
};

/// What the senders and the operator of [`ROUTING`] have.
const ROUTED: &[Delivery] = &[
    keyed("open", 0, 0),
    Delivery {
        decides: Decision {
            attaches: &[1],
            proposes: Some(WorkIx(0)),
            kind: 1,
            ..does(Does::Update)
        },
        when: When::Accepted(DeliveryIx(0)),
        ..keyed("link", 0, 0)
    },
    Delivery { decides: Decision { kind: 1, ..starts(1) }, ..keyed("review", 1, 1) },
    Delivery {
        decides: does(Does::Drop),
        when: When::Accepted(DeliveryIx(0)),
        ..keyed("noise", 0, 0)
    },
    Delivery {
        decides: does(Does::Close),
        when: When::Accepted(DeliveryIx(1)),
        ..keyed("merged", 0, 0)
    },
    Delivery { decides: starts(2), when: When::Exists(WorkIx(1)), ..keyless("aside") },
];

/// The next larger bound of [`ROUTING`]: one more delivery.
pub(super) const ROUTING_LARGER: World = World {
    name: "routing-larger",
    deliveries: &[
        ROUTED[0],
        ROUTED[1],
        ROUTED[2],
        ROUTED[3],
        ROUTED[4],
        ROUTED[5],
        Delivery {
            decides: does(Does::Drop),
            when: When::Accepted(DeliveryIx(3)),
            ..keyed("more-noise", 0, 0)
        },
    ],
    ..ROUTING
};

/// A second kind of Work.
const REVIEW: WorkKind = WorkKind { name: "review", ..PLAIN };

/// Keys and their Works.
pub(super) const OWNERSHIP: World = World {
    name: "ownership",
    shows: "Works with several keys meet, backlogs join, targets agree or not, and Work is made by hand, below a parent too",
    scopes: &["main", "other"],
    keys: &["a", "b", "c", "d"],
    deliveries: OWNED,
    works: &[
        work("one", RUNS_ONCE),
        work("two", RUNS_ONCE),
        work("three", RUNS_ONCE),
        work("below", RUNS_ONCE),
    ],
    operated: &[WorkIx(0)],
    offers: &[Kind::Accept, Kind::Evaluate, Kind::CommitRoute, Kind::CreateWork, Kind::Cancel],
    ..BARE
};

/// What the senders and the operator of [`OWNERSHIP`] have.
const OWNED: &[Delivery] = &[
    Delivery { decides: Decision { attaches: &[1], ..starts(0) }, ..keyed("first", 0, 0) },
    Delivery { decides: Decision { attaches: &[0, 2], ..starts(1) }, ..keyed("second", 1, 1) },
    Delivery {
        decides: Decision { attaches: &[0, 1], ..starts(2) },
        when: When::Accepted(DeliveryIx(1)),
        ..keyed("third", 2, 2)
    },
    Delivery {
        target: Some(WorkIx(0)),
        when: When::Exists(WorkIx(0)),
        ..keyed("contradiction", 2, 0)
    },
    Delivery {
        target: Some(WorkIx(0)),
        decides: Decision { attaches: &[3, 2], ..does(Does::Update) },
        when: When::Exists(WorkIx(0)),
        ..keyless("named")
    },
    Delivery { when: When::Exists(WorkIx(0)), ..keyed("backlog", 1, 1) },
    Delivery {
        key: Some(2),
        decides: starts(2),
        ..asks("by-hand", Ask::Create { parent: None, authorised: false })
    },
    Delivery {
        scope: 1,
        decides: starts(3),
        ..asks("stray-child", Ask::Create { parent: Some(WorkIx(0)), authorised: false })
    },
    Delivery {
        scope: 1,
        decides: starts(3),
        ..asks("child", Ask::Create { parent: Some(WorkIx(0)), authorised: true })
    },
];

/// The next larger bound of [`OWNERSHIP`]: one more delivery.
pub(super) const OWNERSHIP_LARGER: World = World {
    name: "ownership-larger",
    deliveries: &[
        OWNED[0],
        OWNED[1],
        OWNED[2],
        OWNED[3],
        OWNED[4],
        OWNED[5],
        OWNED[6],
        OWNED[7],
        OWNED[8],
        Delivery { when: When::Accepted(DeliveryIx(8)), ..keyed("more-backlog", 1, 1) },
    ],
    ..OWNERSHIP
};
