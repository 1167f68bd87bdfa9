//! Every world by name, small before large in each area.

use crate::worlds::{
    Visit, World, aliases, attempts, controls, endings, failing, recovering, routing, waiting,
};

macro_rules! worlds {
    ($($name:ident, $larger:ident in $file:ident;)*) => {
        $(
            #[doc = concat!("The world `", stringify!($name), "`; its field `shows` says what it isolates.")]
            pub const $name: &World = &$file::$name;
        )*

        /// Every world, in the order of the law's areas.
        pub const ALL: &[&World] = &[$($name,)*];

        const LARGER: &[&World] = &[$(&$file::$larger,)*];
    };
}

worlds! {
    ACCEPTANCE, ACCEPTANCE_LARGER in routing;
    TARGETS, TARGETS_LARGER in routing;
    IDENTITIES, IDENTITIES_LARGER in routing;
    ROUTING, ROUTING_LARGER in routing;
    OWNERSHIP, OWNERSHIP_LARGER in routing;
    ATTEMPTS, ATTEMPTS_LARGER in attempts;
    WAITS, WAITS_LARGER in waiting;
    WAITS_NEXT_ATTEMPT, WAITS_NEXT_ATTEMPT_LARGER in waiting;
    WAIT_NO_TIMERS, WAIT_NO_TIMERS_LARGER in waiting;
    PAUSES, PAUSES_LARGER in waiting;
    DEPTH, DEPTH_LARGER in waiting;
    WAIT_RACES, WAIT_RACES_LARGER in waiting;
    ALIASES, ALIASES_LARGER in aliases;
    SUBSCRIPTIONS, SUBSCRIPTIONS_LARGER in aliases;
    BURSTS, BURSTS_LARGER in aliases;
    ENDINGS, ENDINGS_LARGER in endings;
    STANDING, STANDING_LARGER in endings;
    TERMINAL, TERMINAL_LARGER in endings;
    GOING_ON, GOING_ON_LARGER in endings;
    CONFIGURATION, CONFIGURATION_LARGER in attempts;
    COMPOSED, COMPOSED_LARGER in attempts;
    RECOVERY, RECOVERY_LARGER in recovering;
    RETRY, RETRY_LARGER in failing;
    POLICIES, POLICIES_LARGER in failing;
    EXHAUSTION, EXHAUSTION_LARGER in failing;
    SECOND_THOUGHTS, SECOND_THOUGHTS_LARGER in failing;
    HINTS, HINTS_LARGER in failing;
    RETRY_LIMIT, RETRY_LIMIT_LARGER in failing;
    CANCEL, CANCEL_LARGER in recovering;
    DEADLINES, DEADLINES_LARGER in failing;
    RESTORE, RESTORE_LARGER in recovering;
    RESTORED_FAILURES, RESTORED_FAILURES_LARGER in recovering;
    RESTORED_CLOCKS, RESTORED_CLOCKS_LARGER in recovering;
    CRASH_GRAIN, CRASH_GRAIN_LARGER in recovering;
    INJECTING, INJECTING_LARGER in controls;
    INTERRUPTING, INTERRUPTING_LARGER in controls;
    COMPLETING, COMPLETING_LARGER in controls;
    FALLING_BACK, FALLING_BACK_LARGER in controls;
    STEER_AND_RECOVER, STEER_AND_RECOVER_LARGER in controls;
    STEER_AND_WAIT, STEER_AND_WAIT_LARGER in controls;
    STEER_AND_RETRY, STEER_AND_RETRY_LARGER in controls;
    PINNED_CONTROLS, PINNED_CONTROLS_LARGER in controls;
    INTERRUPTED_FAILURES, INTERRUPTED_FAILURES_LARGER in controls;
    STEER_AND_END, STEER_AND_END_LARGER in controls;
    STEERED_RESTORE, STEERED_RESTORE_LARGER in controls;
    STEER_ONE_OF_TWO, STEER_ONE_OF_TWO_LARGER in controls;
}

/// Runs generic code over a world in a state with room for it. There are few sizes, because each is compiled by itself.
///
/// # Panics
/// If there is no room for the world.
pub fn visit<V: Visit>(world: &'static World, visitor: V) -> V::Out {
    match (world.works.len(), world.slots(), world.waits.len()) {
        (..=4, ..=10, 0) => visitor.visit::<4, 10, 0>(world),
        (..=2, ..=12, ..=3) => visitor.visit::<2, 12, 3>(world),
        (..=3, ..=20, ..=5) => visitor.visit::<3, 20, 5>(world),
        size => unreachable!("no state has room for {}: {size:?}", world.name),
    }
}

/// The world of that name, the larger ones among them.
pub fn named(name: &str) -> Option<&'static World> {
    ALL.iter().chain(LARGER).copied().find(|world| world.name == name)
}

/// The same world with its next larger bound, which is to show no case that it does not show itself.
pub fn larger(world: &World) -> Option<&'static World> {
    let place = ALL.iter().position(|known| known.name == world.name)?;
    LARGER.get(place).copied()
}
