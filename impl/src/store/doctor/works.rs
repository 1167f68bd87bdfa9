//! A work agrees with the attempts and waits that its row sums up, and an ended one has nothing open.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "a work's summary is that of its last attempt",
        sql: "SELECT 'work ' || w.id || ' and its attempt ' || coalesce(w.attempt, 0) FROM work \
              AS w LEFT JOIN attempt AS a ON a.work = w.id AND a.n = w.attempt \
              WHERE w.attempt IS NOT NULL AND (a.n IS NULL OR a.status <> w.attempt_status \
              OR a.epoch <> w.epoch)",
    },
    // RETRY-12
    Check {
        name: "attempts are numbered without gaps",
        sql: "SELECT 'work ' || w.id || ' names attempt ' || coalesce(w.attempt, 0) || ' of ' || \
              (SELECT count(*) FROM attempt AS a WHERE a.work = w.id) FROM work AS w \
              WHERE coalesce(w.attempt, 0) <> (SELECT count(*) FROM attempt AS a \
              WHERE a.work = w.id)",
    },
    Check {
        name: "a work's summary is that of its last wait",
        sql: "SELECT 'work ' || w.id || ' and its wait ' || w.wait FROM work AS w \
              JOIN wait AS x ON x.id = w.wait WHERE x.work <> w.id OR x.status <> w.wait_status \
              OR coalesce(x.winner, 0) <> coalesce(w.winner, 0)",
    },
    Check {
        name: "a work runs exactly while its attempt does",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work \
              WHERE (status = 'running') <> (coalesce(attempt_status, '') = 'running')",
    },
    // WAKE-07
    Check {
        name: "a work waits exactly while its wait is active",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work \
              WHERE (status = 'waiting') <> (coalesce(wait_status, '') = 'active')",
    },
    // CANCEL-04 TERM-01
    Check {
        name: "an ended work has nothing open",
        sql: "SELECT 'work ' || w.id || ' is ' || w.status FROM work AS w \
              WHERE w.status IN ('completed', 'failed', 'cancelled') AND (w.holds <> 0 \
              OR w.idle_at IS NOT NULL OR w.backoff IS NOT NULL OR w.retry_at IS NOT NULL \
              OR w.next_trigger IS NOT NULL \
              OR EXISTS (SELECT 1 FROM attempt AS a WHERE a.work = w.id \
                         AND a.status IN ('running', 'parked')) \
              OR EXISTS (SELECT 1 FROM wait AS x WHERE x.work = w.id AND x.status = 'active'))",
    },
    // DONE-06
    Check {
        name: "a completed work has no pending input",
        sql: "SELECT 'work ' || id FROM work WHERE status = 'completed' AND pending_count > 0",
    },
];
