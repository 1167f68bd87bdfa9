//! Ownership: a key makes a Work once and stays with it, whatever becomes of the Work.

use crate::index::{EventIx, WorkIx};
use crate::law::Law;
use crate::state::{Facts, WorkStatus};

/// Makes the Work an event's handler proposes, owning the event's key, if a route wants it and it has a key.
/// OWN-01 OWN-04 ROUTE-25
pub(super) fn create(law: &Law, state: &mut impl Facts, event: EventIx) -> Option<WorkIx> {
    let about = law.world.about(event);
    let (Some(key), Some(scope), Some(work)) = (about.key, about.scope, law.world.proposes(event))
    else {
        return None;
    };
    if !law.world.routed(event) {
        return None;
    }
    let made = state.work_mut(work);
    if made.status == WorkStatus::Absent {
        made.status = WorkStatus::Ready;
        made.scope = scope;
    }
    made.keys |= 1 << key;
    Some(work)
}
