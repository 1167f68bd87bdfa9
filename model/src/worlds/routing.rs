//! Worlds of acceptance, routing and ownership: nothing runs in them.

use crate::action::Kind;
use crate::index::DeliveryIx;
use crate::worlds::parts::*;
use crate::worlds::{Ask, Decision, Delivery, Does, Of, When, WorkKind, World};

/// Deliveries against keys, scopes and the order of one Work.
pub(super) const ACCEPTANCE: World = World {
    name: "acceptance",
    shows: "deliveries for one key race to own it, in two scopes, with a repeated identity, a crash and a cancel",
    scopes: &["main", "other"],
    keys: &["issue/1"],
    deliveries: &[
        note("first"),
        keyed("second", 0, SECOND),
        note("third"),
        Delivery { identity: "first", ..keyless("repeat") },
        keyed("abroad", 0, THIRD).within(1),
    ],
    works: &[work("fix", RUNS_ONCE), work("fix-too", RUNS_ONCE), work("abroad", RUNS_ONCE)],
    offers: &[ROUTES, &[Kind::Crash, Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`ACCEPTANCE`]: one more delivery.
pub(super) const ACCEPTANCE_LARGER: World = World {
    name: "acceptance-larger",
    deliveries: &and_one::<6>(ACCEPTANCE.deliveries, note("fourth").once(When::Exists(FIRST))),
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
        note("first"),
        keyless("named").to(FIRST),
        note("agreeing").to(FIRST).deciding(Decision::DECLINES),
        keyless("stray"),
        keyed("unwanted", 1, FIRST).deciding(Decision::DECLINES),
        keyed("contradiction", 1, FIRST).to(FIRST),
        keyless("trespass").to(FIRST).within(1),
        Delivery { kind: 1, core: true, ..keyless("forged") },
    ],
    works: &[work("fix", RUNS_ONCE)],
    offers: &[ROUTES, &[Kind::Crash, Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`TARGETS`]: one more delivery.
pub(super) const TARGETS_LARGER: World = World {
    name: "targets-larger",
    deliveries: &and_one::<9>(
        TARGETS.deliveries,
        keyless("named-too").to(FIRST).once(When::Accepted(DeliveryIx(1))),
    ),
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
        signed("copy", 0).once(When::Accepted(DeliveryIx(0))),
        signed("other", 1).once(When::Accepted(DeliveryIx(0))),
        asks("again", Ask::Replay(Of::Delivery(2))).deciding(starts(FIRST)),
        asks("once-more", Ask::Replay(Of::Delivery(4)))
            .deciding(starts(FIRST))
            .once(When::Accepted(DeliveryIx(4))),
    ],
    works: &[work("fix", RUNS_ONCE)],
    depth_max: 1,
    suspect_window: 1,
    offers: &[ROUTES, &[Kind::Replay, Kind::Cancel, Kind::Tick, Kind::Crash]],
    ..BARE
};

/// The next larger bound of [`IDENTITIES`]: one more tick of the window.
pub(super) const IDENTITIES_LARGER: World =
    World { name: "identities-larger", suspect_window: 2, ..IDENTITIES };

/// A delivery of a sender that signs bodies only.
const fn signed(name: &'static str, body: u8) -> Delivery {
    Delivery { body, signs: Some(0), ..note(name) }
}

/// Everything a route can decide.
pub(super) const ROUTING: World = World {
    name: "routing",
    shows: "routes start, update, drop and close one Work, attach a key to it and race for that key with another",
    keys: &["issue/1", "pr/1"],
    kinds: &[PLAIN, REVIEW],
    deliveries: &[
        note("open"),
        note("link")
            .deciding(Decision { does: Does::Update, ..starts(FIRST) }.attaching(&[1]).of_kind(1))
            .once(When::Accepted(DeliveryIx(0))),
        keyed("review", 1, SECOND).deciding(starts(SECOND).of_kind(1)),
        note("noise").deciding(does(Does::Drop)).once(When::Accepted(DeliveryIx(0))),
        note("merged").deciding(does(Does::Close)).once(When::Accepted(DeliveryIx(1))),
        keyless("aside").deciding(starts(THIRD)).once(When::Exists(SECOND)),
    ],
    works: &[work("fix", RUNS_ONCE), work("review", RUNS_ONCE), work("aside", RUNS_ONCE)],
    offers: &[ROUTES, &[Kind::Drop, Kind::Crash]],
    ..BARE
};

/// The next larger bound of [`ROUTING`]: one more delivery.
pub(super) const ROUTING_LARGER: World = World {
    name: "routing-larger",
    deliveries: &and_one::<7>(
        ROUTING.deliveries,
        note("more-noise").deciding(does(Does::Drop)).once(When::Accepted(DeliveryIx(3))),
    ),
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
    deliveries: &[
        note("first").deciding(starts(FIRST).attaching(&[1])),
        keyed("second", 1, SECOND).deciding(starts(SECOND).attaching(&[0, 2])),
        keyed("third", 2, THIRD)
            .deciding(starts(THIRD).attaching(&[0, 1]))
            .once(When::Accepted(DeliveryIx(1))),
        keyed("contradiction", 2, FIRST).to(FIRST).once(When::Exists(FIRST)),
        keyless("named")
            .to(FIRST)
            .deciding(does(Does::Update).attaching(&[3, 2]))
            .once(When::Exists(FIRST)),
        keyed("backlog", 1, SECOND).once(When::Exists(FIRST)),
        Delivery {
            key: Some(2),
            ..asks("by-hand", Ask::Create { parent: None, authorised: false })
        }
        .deciding(starts(THIRD)),
        asks("stray-child", Ask::Create { parent: Some(FIRST), authorised: false })
            .within(1)
            .deciding(starts(FOURTH)),
        asks("child", Ask::Create { parent: Some(FIRST), authorised: true })
            .within(1)
            .deciding(starts(FOURTH)),
    ],
    works: &[
        work("one", RUNS_ONCE),
        work("two", RUNS_ONCE),
        work("three", RUNS_ONCE),
        work("below", RUNS_ONCE),
    ],
    operated: &[FIRST],
    offers: &[ROUTES, &[Kind::CreateWork, Kind::Cancel]],
    ..BARE
};

/// The next larger bound of [`OWNERSHIP`]: one more delivery.
pub(super) const OWNERSHIP_LARGER: World = World {
    name: "ownership-larger",
    deliveries: &and_one::<10>(
        OWNERSHIP.deliveries,
        keyed("more-backlog", 1, SECOND).once(When::Accepted(DeliveryIx(8))),
    ),
    ..OWNERSHIP
};
