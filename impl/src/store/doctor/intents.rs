//! Intents: the attempt each is for, what was sent, what it proved or fell back to.

use super::Check;

pub(super) const CHECKS: &[Check] = &[
    // POLICY-23 INJECT-24
    Check {
        name: "an open intent is for the running attempt of its work",
        sql: "SELECT 'event ' || i.event || ' and attempt ' || i.attempt || ' of work ' || i.work \
              FROM intent AS i LEFT JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt \
              WHERE i.status IN ('committed', 'dispatched') \
              AND (coalesce(a.status, '') <> 'running' OR i.epoch > a.epoch)",
    },
    Check {
        name: "a work counts its open intents",
        sql: "SELECT 'work ' || w.id || ' counts ' || w.open_intents FROM work AS w \
              WHERE w.open_intents <> (SELECT count(*) FROM intent AS i WHERE i.work = w.id \
              AND (i.status = 'committed' OR i.status = 'dispatched'))",
    },
    // POLICY-11 POLICY-19 CTRL-02
    Check {
        name: "an intent is of an event that its mark says it of",
        sql: "SELECT 'event ' || m.event || ' is ' || m.kind FROM mark AS m \
              LEFT JOIN intent AS i ON i.event = m.event \
              WHERE (m.kind IN ('inject', 'interrupt')) <> (i.event IS NOT NULL) \
              OR (i.event IS NOT NULL AND (i.kind <> m.kind OR i.work <> coalesce(m.work, 0))) \
              UNION ALL SELECT 'event ' || i.event || ' has no mark' FROM intent AS i \
              WHERE NOT EXISTS (SELECT 1 FROM mark AS m WHERE m.event = i.event)",
    },
    // POLICY-26
    Check {
        name: "an intent is for an attempt that supports it",
        sql: "SELECT 'event ' || i.event || ' and attempt ' || i.attempt || ' of work ' || i.work \
              FROM intent AS i LEFT JOIN attempt AS a ON a.work = i.work AND a.n = i.attempt \
              WHERE a.n IS NULL OR (i.kind = 'inject' AND a.injects = 0) \
              OR (i.kind = 'interrupt' AND a.interrupts = 0)",
    },
    // POLICY-12 INJECT-12 INJECT-21
    Check {
        name: "an intent was tried exactly if its status says so",
        sql: "SELECT 'event ' || event || ' is ' || status || ' after ' || sends || ' sends' \
              FROM intent WHERE (dispatched_at IS NULL) <> (sends = 0) OR sends < 0 \
              OR (status = 'committed' AND sends > 0) \
              OR (status <> 'committed' AND status <> 'stale' AND sends = 0) \
              OR (status IN ('committed', 'dispatched')) <> (settled_at IS NULL)",
    },
    // POLICY-20 POLICY-21 CTRL-09
    Check {
        name: "a fenced intent is what interrupted its attempt",
        sql: "SELECT 'attempt ' || a.n || ' of work ' || a.work || ' and event ' || \
              a.interrupt_event FROM attempt AS a WHERE a.interrupt_event IS NOT NULL \
              AND (a.status <> 'cancelled' OR NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = a.interrupt_event AND i.work = a.work AND i.attempt = a.n \
              AND i.kind = 'interrupt' AND i.status = 'fenced')) \
              UNION ALL SELECT 'event ' || i.event || ' fenced nothing' FROM intent AS i \
              WHERE i.status = 'fenced' AND NOT EXISTS (SELECT 1 FROM attempt AS a \
              WHERE a.work = i.work AND a.n = i.attempt AND a.interrupt_event = i.event)",
    },
    // INJECT-08 INJECT-17
    Check {
        name: "an input is proved exactly if its intent is consumed",
        sql: "SELECT 'event ' || p.event || ' of work ' || p.work FROM input AS p \
              WHERE p.proved <> 0 AND NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = p.event AND i.work = p.work AND i.attempt = p.attempt \
              AND i.kind = 'inject' AND i.status = 'consumed') \
              UNION ALL SELECT 'event ' || i.event || ' of work ' || i.work FROM intent AS i \
              WHERE i.status = 'consumed' AND NOT EXISTS (SELECT 1 FROM input AS p \
              WHERE p.work = i.work AND p.attempt = i.attempt AND p.event = i.event \
              AND p.proved = 1)",
    },
    // POLICY-33
    Check {
        name: "an input is withdrawn exactly if its error fallback was to drop it",
        sql: "SELECT 'event ' || p.event || ' of work ' || p.work FROM input AS p \
              WHERE p.attempt < 0 AND (p.attempt <> -1 OR NOT EXISTS (SELECT 1 FROM intent AS i \
              WHERE i.event = p.event AND i.work = p.work AND i.status = 'fell_back' \
              AND i.on_error = 'drop')) \
              UNION ALL SELECT 'event ' || i.event || ' of work ' || i.work FROM intent AS i \
              WHERE i.status = 'fell_back' AND (i.on_error IS NULL OR (i.on_error = 'drop') <> \
              EXISTS (SELECT 1 FROM input AS p WHERE p.work = i.work AND p.attempt = -1 \
              AND p.event = i.event))",
    },
    // POLICY-24 POLICY-28
    Check {
        name: "a fallback and its reason are recorded",
        sql: "SELECT 'event ' || event || ' is ' || kind FROM mark WHERE asked IS NOT NULL \
              AND (reason IS NULL OR work IS NULL OR (kind <> 'queued' AND kind <> 'drop'))",
    },
];
