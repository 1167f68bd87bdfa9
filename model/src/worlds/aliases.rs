//! Worlds of dependent Work: what happens elsewhere reaches it under a key of its own.

use crate::action::{Kind, Mark};
use crate::index::DeliveryIx;
use crate::worlds::parts::*;
use crate::worlds::{Ask, Decision, Delivery, Of, Source, WaitDef, When, World};

/// A result that no route of its scope wants.
const fn observed(name: &'static str) -> Delivery {
    Delivery { kind: 1, ..note(name) }.deciding(Decision::DECLINES)
}

/// A wait of the first Work for results under a key that is nobody's.
const BUILT: WaitDef = WaitDef { name: "built", keys: &[1], ..CI }.subscribing(&[Of::Delivery(2)]);

/// Two dependents of one source.
pub(super) const ALIASES: World = World {
    name: "aliases",
    shows: "two Works depend on one source, one of them from another scope, and each gets an alias of its own",
    scopes: &["main", "reader", "stranger"],
    inside: &[(1, 0)],
    reads: &[(1, 0)],
    keys: &["ci/1", "deploy/1", "report/1"],
    types: WITH_RESULTS,
    deliveries: &[
        keyed("start-deploy", 1, FIRST),
        keyed("start-report", 2, SECOND).within(1).once(When::Started(FIRST)),
        observed("green"),
    ],
    works: &[work("deploy", RESUMES), work("report", RUNS_ONCE)],
    waits: &[
        BUILT,
        WaitDef { name: "known", work: SECOND, keys: &[2], ..BUILT }.after(&[Mark::Start]),
        WaitDef {
            name: "secret",
            work: SECOND,
            keys: &[2],
            source: Some(Source { key: 0, scope: 2, events: &[] }),
            ..BUILT
        }
        .after(&[Mark::Start]),
        WaitDef { name: "keyless", keys: &[], ..BUILT }.after(&[Mark::Start]),
    ],
    operated: &[],
    offers: &[ROUTES, RUNS, &[Kind::RegisterWait, Kind::Translate, Kind::Drop]],
    ..BARE
};

/// The next larger bound of [`ALIASES`]: room for both Works at once.
pub(super) const ALIASES_LARGER: World = World { name: "aliases-larger", capacity: 2, ..ALIASES };

/// What one dependent of one source has: its own key is the second.
const ONE_DEPENDENT: World = World {
    keys: &["ci/1", "deploy/1"],
    types: WITH_RESULTS,
    works: &[work("deploy", RESUMES)],
    ..BARE
};

/// One subscription from its beginning to its end.
pub(super) const SUBSCRIPTIONS: World = World {
    name: "subscriptions",
    shows: "one subscription translates what its source had and gets, in order and within the limit, until its wait is over",
    deliveries: &[
        keyed("start", 1, FIRST),
        observed("red").once(When::Exists(FIRST)),
        observed("green").once(When::Exists(FIRST)),
        asks("again", Ask::Replay(Of::Delivery(2)))
            .deciding(Decision::DECLINES)
            .once(When::Accepted(DeliveryIx(2))),
    ],
    waits: &[BUILT.subscribing(&[Of::Delivery(1), Of::Delivery(2), Of::Delivery(3)])],
    depth_max: 1,
    offers: &[ROUTES, RUNS, WAKES, &[Kind::Translate, Kind::Replay, Kind::Cancel]],
    ..ONE_DEPENDENT
};

/// The next larger bound of [`SUBSCRIPTIONS`]: one more event of the source. It shows twelve cases that three events
/// cannot show: two are translated and unserved while two more are to be translated. Each half is shown there by itself.
pub(super) const SUBSCRIPTIONS_LARGER: World = World {
    name: "subscriptions-larger",
    deliveries: &and_one::<5>(
        SUBSCRIPTIONS.deliveries,
        observed("amber").once(When::Accepted(DeliveryIx(3))),
    ),
    waits: &[BUILT.subscribing(&[
        Of::Delivery(1),
        Of::Delivery(2),
        Of::Delivery(3),
        Of::Delivery(4),
    ])],
    ..SUBSCRIPTIONS
};

/// One subscription after another.
pub(super) const BURSTS: World = World {
    name: "bursts",
    shows: "a source speaks twice while its dependent waits twice, so that the second wait begins where the first had come",
    deliveries: &[
        keyed("start", 1, FIRST),
        observed("red").once(When::Exists(FIRST)),
        observed("green").once(When::Accepted(DeliveryIx(1))),
    ],
    waits: &[
        BUILT.subscribing(BOTH).after(&[Mark::Start]),
        WaitDef { name: "built-again", ..BUILT }.subscribing(BOTH).after(&[Mark::Latest]),
    ],
    offers: &[ROUTES, RUNS, &[Kind::RegisterWait, Kind::Translate]],
    ..ONE_DEPENDENT
};

const BOTH: &[Of] = &[Of::Delivery(1), Of::Delivery(2)];

/// The next larger bound of [`BURSTS`]: another order, in which the source may speak before there is a dependent.
pub(super) const BURSTS_LARGER: World = World {
    name: "bursts-larger",
    deliveries: &[
        keyed("start", 1, FIRST),
        observed("red"),
        observed("green").once(When::Accepted(DeliveryIx(1))),
    ],
    ..BURSTS
};
