-- Words are checked by `OR`, not `IN`: SQLite builds a table for each longer list it evaluates.
-- Integers lead inside; 16-byte uids and text are for the edge. Event rows never change, so what
-- moves (the routing queue, marks, input) lives in tables of its own.

CREATE TABLE meta (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    database_id  BLOB NOT NULL,
    identity_key BLOB NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE counter (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    seq         INTEGER NOT NULL,
    time_mark   INTEGER NOT NULL,
    incarnation INTEGER NOT NULL CHECK (incarnation >= 1),
    restored    INTEGER NOT NULL CHECK (restored = 0 OR restored = 1)
) STRICT;

-- What a principal's request under a key was answered, for a day.
CREATE TABLE idempotency (
    principal TEXT NOT NULL,
    key       TEXT NOT NULL,
    request   BLOB NOT NULL,
    answer    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);

-- Sources, types, scopes and kinds: said by every event, stored once.
CREATE TABLE name (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE generation (
    n          INTEGER PRIMARY KEY,
    digest     TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE event (
    seq         INTEGER PRIMARY KEY,
    uid         BLOB NOT NULL,
    source      INTEGER NOT NULL REFERENCES name (id),
    delivery    TEXT NOT NULL,
    type        INTEGER NOT NULL REFERENCES name (id),
    subject     TEXT,
    occurred_at INTEGER,
    accepted_at INTEGER NOT NULL,
    scope       INTEGER NOT NULL REFERENCES name (id),
    key         INTEGER REFERENCES key (id),
    target      INTEGER REFERENCES work (id),
    wait        INTEGER REFERENCES wait (id),
    failed      INTEGER,
    parent      INTEGER REFERENCES event (seq),
    root        INTEGER NOT NULL REFERENCES event (seq),
    depth       INTEGER NOT NULL,
    depth_max   INTEGER NOT NULL,
    derived     TEXT
        CHECK (derived = 'timeout' OR derived = 'continuation' OR derived = 'alias'
            OR derived = 'turn_ended' OR derived = 'successor' OR derived = 'replay'
            OR derived = 'retry'),
    body        BLOB,
    by_work     INTEGER REFERENCES work (id),
    by_attempt  INTEGER
) STRICT;
CREATE UNIQUE INDEX event_uid ON event (uid);
CREATE INDEX event_parent ON event (parent) WHERE parent IS NOT NULL;
CREATE INDEX event_key ON event (key, seq) WHERE key IS NOT NULL;

CREATE TABLE payload (
    event INTEGER PRIMARY KEY REFERENCES event (seq),
    body  TEXT NOT NULL
) STRICT;

-- Found by a keyed hash, verified in full against the event row.
CREATE TABLE identity (
    hash  INTEGER NOT NULL,
    event INTEGER NOT NULL REFERENCES event (seq),
    PRIMARY KEY (hash, event)
) STRICT, WITHOUT ROWID;

-- Events whose identity came again with another body.
CREATE TABLE conflict (
    event INTEGER PRIMARY KEY REFERENCES event (seq),
    at    INTEGER NOT NULL
) STRICT;

-- Bodies of senders that sign bodies only, by half a hash.
CREATE TABLE signed_body (
    source INTEGER NOT NULL REFERENCES name (id),
    body   BLOB NOT NULL,
    event  INTEGER NOT NULL REFERENCES event (seq),
    PRIMARY KEY (source, body, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE unrouted (
    event   INTEGER PRIMARY KEY REFERENCES event (seq),
    scope   INTEGER NOT NULL REFERENCES name (id),
    key     INTEGER REFERENCES key (id),
    target  INTEGER REFERENCES work (id),
    by_work INTEGER REFERENCES work (id)
) STRICT;
CREATE INDEX unrouted_key ON unrouted (key, scope, event) WHERE key IS NOT NULL;
CREATE INDEX unrouted_target ON unrouted (target, event) WHERE target IS NOT NULL;

CREATE TABLE mark (
    event      INTEGER PRIMARY KEY REFERENCES event (seq),
    kind       TEXT NOT NULL
        CHECK (kind = 'queued' OR kind = 'inject' OR kind = 'interrupt' OR kind = 'woke' OR kind = 'unmatched'
            OR kind = 'drop' OR kind = 'close' OR kind = 'terminal'
            OR kind = 'operator_drop' OR kind = 'replay_suspect' OR kind = 'release'
            OR kind = 'continuation' OR kind = 'stale_retry'),
    work       INTEGER REFERENCES work (id),
    wait       INTEGER REFERENCES wait (id),
    route      TEXT,
    reason     TEXT,
    asked      TEXT CHECK (asked = 'inject' OR asked = 'interrupt'),
    generation INTEGER NOT NULL,
    at         INTEGER NOT NULL
) STRICT;

-- Every external identity an event or a wait has named, and its owner once it has one. A
-- generation names its base; a base names its newest generation.
CREATE TABLE key (
    id          INTEGER PRIMARY KEY,
    source      INTEGER NOT NULL REFERENCES name (id),
    external_id TEXT NOT NULL,
    work        INTEGER REFERENCES work (id),
    base        INTEGER REFERENCES key (id),
    generation  INTEGER NOT NULL,
    newest      INTEGER REFERENCES key (id),
    UNIQUE (source, external_id)
) STRICT;
CREATE INDEX key_work ON key (work) WHERE work IS NOT NULL;
CREATE UNIQUE INDEX key_base ON key (base, generation) WHERE base IS NOT NULL;

CREATE TABLE work (
    id             INTEGER PRIMARY KEY,
    uid            BLOB NOT NULL,
    scope          INTEGER NOT NULL REFERENCES name (id),
    kind           INTEGER NOT NULL REFERENCES name (id),
    standing       INTEGER NOT NULL CHECK (standing = 0 OR standing = 1),
    predecessor    INTEGER REFERENCES work (id),
    parent         INTEGER REFERENCES work (id),
    first_key      INTEGER REFERENCES key (id),
    created_by     INTEGER NOT NULL REFERENCES event (seq),
    created_at     INTEGER NOT NULL,
    since          INTEGER NOT NULL,
    status         TEXT NOT NULL
        CHECK (status = 'ready' OR status = 'running' OR status = 'waiting'
            OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
    revision       INTEGER NOT NULL,
    attempt        INTEGER,
    attempt_status TEXT
        CHECK (attempt_status = 'running' OR attempt_status = 'parked'
            OR attempt_status = 'completed' OR attempt_status = 'waiting'
            OR attempt_status = 'failed' OR attempt_status = 'cancelled'),
    epoch          INTEGER,
    wait           INTEGER REFERENCES wait (id),
    wait_status    TEXT
        CHECK (wait_status = 'active' OR wait_status = 'woken' OR wait_status = 'cancelled'),
    winner         INTEGER REFERENCES event (seq),
    pending_count  INTEGER NOT NULL,
    pending_xor    INTEGER NOT NULL,
    open_intents   INTEGER NOT NULL CHECK (open_intents >= 0),
    holds          INTEGER NOT NULL CHECK (holds >= 0 AND holds < 8),
    failures       INTEGER NOT NULL,
    root           INTEGER REFERENCES event (seq),
    depth          INTEGER,
    next_trigger   INTEGER REFERENCES event (seq),
    next_parent    INTEGER REFERENCES event (seq),
    marked_attempt INTEGER,
    marked_epoch   INTEGER,
    idle_at        INTEGER,
    backoff        INTEGER,
    retry_at       INTEGER,
    retry_disabled INTEGER CHECK (retry_disabled = 0 OR retry_disabled = 1),
    closed_by      INTEGER REFERENCES event (seq),
    reason         TEXT
) STRICT;
CREATE UNIQUE INDEX work_uid ON work (uid);
CREATE INDEX work_claimable ON work (scope, since, id)
    WHERE status = 'ready' AND holds = 0 AND marked_attempt IS NULL AND backoff IS NULL
      AND (pending_count > 0 OR next_trigger IS NOT NULL);
CREATE INDEX work_running ON work (scope, id) WHERE status = 'running';
CREATE INDEX work_open ON work (status, id)
    WHERE status <> 'completed' AND status <> 'failed' AND status <> 'cancelled';
CREATE INDEX work_held ON work (id) WHERE holds <> 0;
CREATE INDEX work_marked ON work (id) WHERE marked_attempt IS NOT NULL;
CREATE INDEX work_retry ON work (retry_at, id) WHERE retry_disabled = 0;
CREATE INDEX work_idle ON work (idle_at, id) WHERE idle_at IS NOT NULL;
CREATE UNIQUE INDEX work_predecessor ON work (predecessor) WHERE predecessor IS NOT NULL;
CREATE INDEX work_parent ON work (parent, id) WHERE parent IS NOT NULL;

CREATE TABLE attempt (
    work            INTEGER NOT NULL REFERENCES work (id),
    n               INTEGER NOT NULL,
    uid             BLOB NOT NULL,
    status          TEXT NOT NULL
        CHECK (status = 'running' OR status = 'parked' OR status = 'completed'
            OR status = 'waiting' OR status = 'failed' OR status = 'cancelled'),
    phase           TEXT
        CHECK (phase = 'never_handed' OR phase = 'handed' OR phase = 'pinned'
            OR phase = 'recovering'),
    epoch           INTEGER NOT NULL,
    token           BLOB,
    expires_at      INTEGER,
    trigger_event   INTEGER NOT NULL REFERENCES event (seq),
    parent          INTEGER NOT NULL REFERENCES event (seq),
    woken_by        INTEGER REFERENCES event (seq),
    batch_epoch     INTEGER NOT NULL,
    start_reason    TEXT NOT NULL
        CHECK (start_reason = 'start' OR start_reason = 'next' OR start_reason = 'resume'),
    binding         TEXT NOT NULL,
    generation      INTEGER NOT NULL,
    resumes         INTEGER NOT NULL,
    holds_until_pin INTEGER NOT NULL,
    injects         INTEGER NOT NULL,
    interrupts      INTEGER NOT NULL,
    active          INTEGER,
    retry           TEXT NOT NULL,
    active_left     INTEGER,
    segment_at      INTEGER NOT NULL,
    metadata        TEXT,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    result          TEXT,
    hint            TEXT CHECK (hint = 'valid' OR hint = 'invalid' OR hint = 'excessive'),
    hint_ms         INTEGER,
    interrupt_event INTEGER REFERENCES event (seq),
    usage           TEXT,
    PRIMARY KEY (work, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_lease ON attempt (expires_at) WHERE status = 'running';
CREATE UNIQUE INDEX attempt_uid ON attempt (uid);
CREATE UNIQUE INDEX attempt_open ON attempt (work)
    WHERE status = 'running' OR status = 'parked';

-- Pending input has attempt 0: the queue of a work is the beginning of its part of the tree. What an
-- error fallback withdrew has attempt -1. `proved`: a result said so, and no claim took it.
CREATE TABLE input (
    work    INTEGER NOT NULL REFERENCES work (id),
    attempt INTEGER NOT NULL,
    event   INTEGER NOT NULL REFERENCES event (seq),
    epoch   INTEGER NOT NULL,
    proved  INTEGER NOT NULL CHECK (proved = 0 OR proved = 1),
    PRIMARY KEY (work, attempt, event)
) STRICT, WITHOUT ROWID;

-- Of an event that is to reach a running attempt: recorded with its mark, before anything is sent.
CREATE TABLE intent (
    event         INTEGER PRIMARY KEY REFERENCES event (seq),
    work          INTEGER NOT NULL REFERENCES work (id),
    attempt       INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    kind          TEXT NOT NULL CHECK (kind = 'inject' OR kind = 'interrupt'),
    status        TEXT NOT NULL
        CHECK (status = 'committed' OR status = 'dispatched' OR status = 'accepted'
            OR status = 'not_accepting' OR status = 'fenced' OR status = 'fell_back'
            OR status = 'consumed' OR status = 'stale'),
    on_error      TEXT CHECK (on_error = 'queue' OR on_error = 'drop'),
    sends         INTEGER NOT NULL,
    committed_at  INTEGER NOT NULL,
    dispatched_at INTEGER,
    settled_at    INTEGER,
    detail        TEXT
) STRICT;
CREATE INDEX intent_work ON intent (work, event);
CREATE INDEX intent_open ON intent (work, event)
    WHERE status = 'committed' OR status = 'dispatched';

CREATE TABLE wait (
    id            INTEGER PRIMARY KEY,
    uid           BLOB NOT NULL,
    work          INTEGER NOT NULL REFERENCES work (id),
    attempt       INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    status        TEXT NOT NULL
        CHECK (status = 'active' OR status = 'woken' OR status = 'cancelled'),
    after_seq     INTEGER NOT NULL,
    parent        INTEGER NOT NULL REFERENCES event (seq),
    fire_at       INTEGER,
    timeout_event INTEGER REFERENCES event (seq),
    winner        INTEGER REFERENCES event (seq),
    registered_at INTEGER NOT NULL,
    ended_at      INTEGER
) STRICT;
CREATE UNIQUE INDEX wait_uid ON wait (uid);
CREATE UNIQUE INDEX wait_active ON wait (work) WHERE status = 'active';
CREATE INDEX wait_timed_out ON wait (id) WHERE status = 'active' AND timeout_event IS NOT NULL;
CREATE INDEX wait_work ON wait (work, id);

CREATE TABLE wait_key (
    wait INTEGER NOT NULL REFERENCES wait (id),
    key  INTEGER NOT NULL REFERENCES key (id),
    n    INTEGER NOT NULL,
    PRIMARY KEY (wait, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE wait_type (
    wait INTEGER NOT NULL REFERENCES wait (id),
    type INTEGER NOT NULL REFERENCES name (id),
    PRIMARY KEY (wait, type)
) STRICT, WITHOUT ROWID;

-- What a wait subscribes to beside its own keys: events of one external resource in one scope, all
-- of which up to the checkpoint are translated. A row outlives its wait as history.
CREATE TABLE subscription (
    id         INTEGER PRIMARY KEY,
    uid        BLOB NOT NULL,
    extension  INTEGER NOT NULL REFERENCES name (id),
    wait       INTEGER NOT NULL REFERENCES wait (id),
    work       INTEGER NOT NULL REFERENCES work (id),
    key        INTEGER NOT NULL REFERENCES key (id),
    scope      INTEGER NOT NULL REFERENCES name (id),
    checkpoint INTEGER NOT NULL,
    status     TEXT NOT NULL CHECK (status = 'active' OR status = 'ended')
) STRICT;
CREATE UNIQUE INDEX subscription_uid ON subscription (uid);
CREATE UNIQUE INDEX subscription_wait ON subscription (wait);
CREATE INDEX subscription_active ON subscription (id) WHERE status = 'active';
CREATE INDEX subscription_source ON subscription (key, scope, wait) WHERE status = 'active';
CREATE INDEX subscription_last ON subscription (work, key, scope, id);

-- Armed, or disabled by a causal limit; gone once fired or cancelled.
CREATE TABLE timer (
    wait     INTEGER PRIMARY KEY REFERENCES wait (id),
    fire_at  INTEGER NOT NULL,
    disabled INTEGER NOT NULL CHECK (disabled = 0 OR disabled = 1)
) STRICT;
CREATE INDEX timer_due ON timer (fire_at, wait) WHERE disabled = 0;

-- Diagnostics of refused derived events, one for each attempted delivery and parent.
CREATE TABLE rejection (
    id        INTEGER PRIMARY KEY,
    delivery  TEXT NOT NULL,
    kind      TEXT NOT NULL
        CHECK (kind = 'timeout' OR kind = 'continuation' OR kind = 'alias'
            OR kind = 'turn_ended' OR kind = 'successor' OR kind = 'replay' OR kind = 'retry'),
    parent    INTEGER NOT NULL REFERENCES event (seq),
    reason    TEXT NOT NULL
        CHECK (reason = 'depth_limit'),
    root      INTEGER NOT NULL REFERENCES event (seq),
    depth     INTEGER NOT NULL,
    depth_max INTEGER NOT NULL,
    wait      INTEGER REFERENCES wait (id),
    work      INTEGER REFERENCES work (id),
    attempt   INTEGER,
    at        INTEGER NOT NULL,
    UNIQUE (delivery, parent)
) STRICT;

CREATE TABLE journal (
    n       INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    args    TEXT NOT NULL,
    outcome TEXT NOT NULL,
    facts   TEXT NOT NULL,
    digest  INTEGER
) STRICT;

-- The chain over the journal: one link a batch, up to and with row `n`.
CREATE TABLE seal (
    n     INTEGER PRIMARY KEY,
    chain BLOB NOT NULL
) STRICT;

-- How often each actor was answered without effect in its current minute.
CREATE TABLE quota (
    actor      TEXT PRIMARY KEY,
    minute     INTEGER NOT NULL,
    written    INTEGER NOT NULL,
    suppressed INTEGER NOT NULL
) STRICT;
CREATE INDEX quota_minute ON quota (minute) WHERE suppressed = 0;
