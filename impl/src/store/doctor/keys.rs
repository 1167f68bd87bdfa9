//! Keys and their generations, and the works that follow one another on them.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // TERM-03 TERM-04
    Check {
        name: "a key's newest generation is the highest",
        sql: "SELECT 'key ' || k.id FROM key AS k WHERE (k.base IS NULL) <> (k.generation = 0) \
              OR (k.base IS NOT NULL AND k.generation > (SELECT n.generation FROM key AS b \
                  JOIN key AS n ON n.id = b.newest WHERE b.id = k.base)) \
              OR (k.newest IS NOT NULL AND NOT EXISTS (SELECT 1 FROM key AS n \
                  WHERE n.id = k.newest AND n.base = k.id))",
    },
    // TERM-03 TERM-05
    Check {
        name: "a successor follows an ended work of its scope and kind",
        sql: "SELECT 'work ' || w.id FROM work AS w JOIN work AS p ON p.id = w.predecessor \
              WHERE p.scope <> w.scope OR p.kind <> w.kind \
              OR p.status NOT IN ('completed', 'failed', 'cancelled')",
    },
    // TERM-03
    Check {
        name: "a work owns its first key",
        sql: "SELECT 'work ' || w.id FROM work AS w WHERE (w.first_key IS NULL) <> NOT EXISTS \
              (SELECT 1 FROM key AS k WHERE k.work = w.id) OR (w.first_key IS NOT NULL AND NOT \
              EXISTS (SELECT 1 FROM key AS k WHERE k.id = w.first_key AND k.work = w.id))",
    },
    Check {
        name: "only idle work has an idle timer",
        sql: "SELECT 'work ' || id || ' is ' || status FROM work WHERE idle_at IS NOT NULL \
              AND (status <> 'ready' OR standing = 1)",
    },
];
