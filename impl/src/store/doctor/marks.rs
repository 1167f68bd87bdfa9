//! What routing committed: the mark of an event, and where it says that the event is.

use super::Check;

/// Every event is marked or still to route, and is where its mark says.
pub(super) const ARRIVES: &[Check] = &[
    // ROUTE-11
    Check {
        name: "an event is either unrouted or marked",
        sql: "SELECT 'event ' || e.seq FROM event AS e \
              LEFT JOIN unrouted AS u ON u.event = e.seq LEFT JOIN mark AS m ON m.event = e.seq \
              WHERE (u.event IS NULL) = (m.event IS NULL)",
    },
    // POLICY-08 POLICY-11 POLICY-19
    Check {
        name: "a queued or waking event is input of its work",
        sql: "SELECT 'event ' || m.event || ' and work ' || coalesce(m.work, 0) FROM mark AS m \
              JOIN event AS e ON e.seq = m.event JOIN name AS t ON t.id = e.type \
              WHERE (m.kind IN ('queued', 'woke', 'inject') \
                  OR (m.kind = 'interrupt' AND t.text <> 'core.manual.interrupt')) AND NOT EXISTS \
              (SELECT 1 FROM input AS i WHERE i.work = m.work AND i.event = m.event)",
    },
];

/// It is nowhere else, and what its mark names is there.
pub(super) const BOUNDS: &[Check] = &[
    // POLICY-10 WAKE-09
    Check {
        name: "an event is input of one work, once",
        sql: "SELECT 'event ' || event || ' is input ' || count(*) || ' times' FROM input \
              GROUP BY event HAVING count(*) > 1",
    },
    // OURS-07 OURS-17 POLICY-25
    Check {
        name: "what is kept inert is no input",
        sql: "SELECT 'event ' || m.event || ' is ' || m.kind FROM mark AS m \
              JOIN event AS e ON e.seq = m.event JOIN name AS t ON t.id = e.type \
              WHERE m.kind <> 'queued' AND m.kind <> 'woke' AND m.kind <> 'inject' \
              AND (m.kind <> 'interrupt' OR t.text = 'core.manual.interrupt') AND EXISTS \
              (SELECT 1 FROM input AS i WHERE i.event = m.event)",
    },
    // OURS-02
    Check {
        name: "a closed work names the event that closed it",
        sql: "SELECT 'event ' || m.event || ' and work ' || coalesce(m.work, 0) FROM mark AS m \
              WHERE m.kind = 'close' AND NOT EXISTS (SELECT 1 FROM work AS w WHERE w.id = m.work \
              AND w.status = 'cancelled' AND w.closed_by = m.event)",
    },
    // BIND-10
    Check {
        name: "a mark's generation was current",
        sql: "SELECT 'event ' || m.event FROM mark AS m WHERE m.generation <> 0 AND NOT EXISTS \
              (SELECT 1 FROM generation AS g WHERE g.n = m.generation)",
    },
    // WAIT-06 DONE-02
    Check {
        name: "no work is handed what its own execution published",
        sql: "SELECT 'event ' || e.seq FROM event AS e JOIN input AS i ON i.event = e.seq \
              AND i.work = e.by_work",
    },
];
