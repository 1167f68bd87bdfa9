//! Waits, the timers they have left and the winners they woke with.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // CANCEL-02 TIMER-04
    Check {
        name: "a timer belongs to an active wait that has not fired",
        sql: "SELECT 'timer of wait ' || t.wait FROM timer AS t JOIN wait AS x ON x.id = t.wait \
              WHERE x.status <> 'active' OR x.timeout_event IS NOT NULL OR x.fire_at <> t.fire_at \
              OR x.fire_at IS NULL",
    },
    Check {
        name: "an active wait with a timeout has its timer or its accepted timeout",
        sql: "SELECT 'wait ' || x.id FROM wait AS x WHERE x.status = 'active' \
              AND x.fire_at IS NOT NULL AND x.timeout_event IS NULL \
              AND NOT EXISTS (SELECT 1 FROM timer AS t WHERE t.wait = x.id)",
    },
    // WAKE-07 WAKE-09
    Check {
        name: "a woken wait names a winner that is input of its work",
        sql: "SELECT 'wait ' || x.id FROM wait AS x WHERE (x.status = 'woken') <> \
              (x.winner IS NOT NULL) OR (x.status = 'woken' AND NOT EXISTS \
              (SELECT 1 FROM input AS i WHERE i.work = x.work AND i.event = x.winner))",
    },
];
