//! Who may act: open attempts, their leases and tokens, and the incarnation that gave them.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // POLICY-05
    Check {
        name: "a work has at most one open attempt",
        sql: "SELECT 'work ' || work || ' has ' || count(*) || ' open attempts' FROM attempt \
              WHERE status IN ('running', 'parked') GROUP BY work HAVING count(*) > 1",
    },
    // LEASE-06
    Check {
        name: "exactly the running attempts hold a lease",
        sql: "SELECT 'attempt ' || n || ' of work ' || work || ' is ' || status FROM attempt \
              WHERE (status = 'running') <> (expires_at IS NOT NULL) \
              OR (status <> 'running' AND token IS NOT NULL) \
              OR (status = 'running') <> (phase IS NOT NULL)",
    },
    // OURS-21 LEASE-15
    Check {
        name: "a running attempt has a token exactly in the incarnation it was granted in",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' at epoch ' || a.epoch \
              FROM attempt AS a JOIN counter AS c ON c.id = 1 WHERE a.status = 'running' \
              AND (a.token IS NOT NULL) <> (a.epoch > (c.incarnation - 1) * 1000000000)",
    },
    // OURS-21
    Check {
        name: "no epoch is of an incarnation to come",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' at epoch ' || a.epoch \
              FROM attempt AS a JOIN counter AS c ON c.id = 1 \
              WHERE a.epoch > c.incarnation * 1000000000 OR a.batch_epoch > a.epoch",
    },
    Check {
        name: "only a restored database is under the restore hold",
        sql: "SELECT 'incarnation ' || incarnation FROM counter \
              WHERE restored = 1 AND incarnation = 1",
    },
];
