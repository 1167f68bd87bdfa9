//! What a continuation or derived event goes on from: subscriptions, aliases, active time, depth.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // ALIAS-02 ALIAS-03 ALIAS-11: it goes on where the last one to the same source ended, which can
    // be below the watermark.
    Check {
        name: "a subscription is active exactly while its wait is",
        sql: "SELECT 'subscription ' || s.id FROM subscription AS s JOIN wait AS x ON x.id = s.wait \
              WHERE (s.status = 'active') <> (x.status = 'active') OR s.work <> x.work \
              OR (s.checkpoint < x.after_seq AND NOT EXISTS (SELECT 1 FROM subscription AS p \
                  WHERE p.checkpoint <= s.checkpoint AND p.id = (SELECT max(l.id) \
                  FROM subscription AS l WHERE l.work = s.work AND l.key = s.key \
                  AND l.scope = s.scope AND l.id < s.id)))",
    },
    // ALIAS-05 ALIAS-07
    Check {
        name: "an alias descends from what its subscription has passed",
        sql: "SELECT 'event ' || e.seq FROM event AS e \
              LEFT JOIN subscription AS s ON s.wait = e.wait \
              WHERE e.derived = 'alias' AND (s.id IS NULL OR e.parent > s.checkpoint \
              OR e.target <> s.work)",
    },
    // WAKE-27
    Check {
        name: "active time left is within what the pin allows",
        sql: "SELECT 'attempt ' || n || ' of work ' || work FROM attempt \
              WHERE (active IS NULL) <> (active_left IS NULL) OR active_left > active \
              OR active_left < 0",
    },
    // CAUSE-14 CAUSE-15
    Check {
        name: "root and depth follow from the parent",
        sql: "SELECT 'event ' || e.seq FROM event AS e LEFT JOIN event AS p ON p.seq = e.parent \
              WHERE e.depth > e.depth_max \
              OR (e.parent IS NULL AND (e.root <> e.seq OR e.depth <> 0)) \
              OR (e.parent IS NOT NULL AND (p.seq IS NULL OR p.seq >= e.seq OR e.root <> p.root \
                  OR e.depth <> p.depth + 1 OR e.depth_max <> p.depth_max))",
    },
];
