//! After a failure: the backoff and its timer, the retry, the budget, and the segment that may still
//! have a process.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // RETRY-20 RETRY-21
    Check {
        name: "only ready work whose last attempt failed is in backoff",
        sql: "SELECT 'work ' || id || ' is ' || status || ' in the backoff of attempt ' || backoff \
              FROM work WHERE backoff IS NOT NULL AND (status <> 'ready' OR attempt IS NULL \
              OR backoff <> attempt OR attempt_status <> 'failed')",
    },
    // RETRY-02 CANCEL-02
    Check {
        name: "a retry timer belongs to a backoff",
        sql: "SELECT 'work ' || id FROM work WHERE (retry_at IS NULL) <> (retry_disabled IS NULL) \
              OR (retry_at IS NOT NULL AND backoff IS NULL)",
    },
    // RETRY-02 RETRY-19 RETRY-20
    Check {
        name: "a backoff has its timer or its unrouted retry, not both",
        sql: "SELECT 'work ' || w.id || ' and its attempt ' || w.backoff FROM work AS w \
              WHERE w.backoff IS NOT NULL AND (w.retry_at IS NULL) <> EXISTS \
              (SELECT 1 FROM unrouted AS u JOIN event AS e ON e.seq = u.event \
               WHERE u.target = w.id AND e.derived = 'retry' AND e.failed = w.backoff)",
    },
    // RETRY-20 CAUSE-32
    Check {
        name: "a disabled retry timer is a person's to end",
        sql: "SELECT 'work ' || id FROM work WHERE retry_disabled = 1 AND (holds / 2) % 2 = 0",
    },
    // RETRY-01 RETRY-06
    Check {
        name: "something follows a failure",
        sql: "SELECT 'work ' || w.id || ' after its attempt ' || w.attempt FROM work AS w \
              JOIN attempt AS a ON a.work = w.id AND a.n = w.attempt \
              WHERE w.status = 'ready' AND w.standing = 0 AND w.attempt_status = 'failed' \
              AND w.backoff IS NULL AND w.holds = 0 AND w.pending_count = 0 \
              AND NOT EXISTS (SELECT 1 FROM mark AS m WHERE m.work = w.id \
              AND m.kind = 'release' AND m.at >= a.ended_at)",
    },
    // POLICY-22
    Check {
        name: "a mark names a segment that there was",
        sql: "SELECT 'work ' || w.id || ' and segment ' || w.marked_attempt || '-' || \
              coalesce(w.marked_epoch, 0) FROM work AS w LEFT JOIN attempt AS a \
              ON a.work = w.id AND a.n = w.marked_attempt WHERE w.marked_attempt IS NOT NULL \
              AND (a.n IS NULL OR w.marked_epoch IS NULL OR w.marked_epoch NOT BETWEEN 1 AND a.epoch)",
    },
    // RETRY-19 RETRY-22
    Check {
        name: "a retry names a failed attempt of its work, once",
        sql: "SELECT 'event ' || e.seq FROM event AS e LEFT JOIN attempt AS a \
              ON a.work = e.target AND a.n = e.failed \
              WHERE (coalesce(e.derived, '') = 'retry') <> (e.failed IS NOT NULL) \
              OR (e.failed IS NOT NULL AND (a.n IS NULL OR a.status <> 'failed' \
                  OR e.parent IS NULL OR a.trigger_event <> e.parent)) \
              UNION ALL SELECT 'work ' || target || ' and its attempt ' || failed FROM event \
              WHERE failed IS NOT NULL GROUP BY target, failed HAVING count(*) > 1",
    },
    // RETRY-05 RETRY-10 JOB-16
    Check {
        name: "failures are counted on work that has failed",
        sql: "SELECT 'work ' || id || ' counts ' || failures FROM work WHERE failures < 0 \
              OR failures > coalesce(attempt, 0) OR (standing = 1 AND failures <> 0) \
              OR (status = 'completed' AND failures <> 0) OR (status = 'failed' AND failures = 0)",
    },
    // RETRY-06 RETRY-27
    Check {
        name: "an exhausted work is ready after a failure",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work WHERE holds % 2 = 1 \
              AND (status <> 'ready' OR coalesce(attempt_status, '') <> 'failed' \
                   OR failures = 0 OR backoff IS NOT NULL)",
    },
    // RETRY-16
    Check {
        name: "only a failure has a hint",
        sql: "SELECT 'attempt ' || n || ' of work ' || work || ' is ' || status FROM attempt \
              WHERE (hint IS NOT NULL AND status <> 'failed') \
              OR (hint_ms IS NOT NULL AND hint IS NULL)",
    },
];
