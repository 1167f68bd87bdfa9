//! The import map: what each folder may not know, and why. `docs/architecture.md` tells the same
//! to people; `imports.rs` holds the sources to it.
//!
//! Which crate may depend on which is `deny.toml`'s half.

/// One thing that one folder does not know.
#[derive(Debug, Clone, Copy)]
pub struct Boundary {
    /// A folder, or a file without `.rs`.
    pub place: &'static str,
    /// What must not be found there.
    pub ban: Ban,
    /// Why not.
    pub reason: &'static str,
}

/// What a boundary keeps out.
#[derive(Debug, Clone, Copy)]
pub enum Ban {
    /// These crates.
    Crates(&'static [&'static str]),
    /// Crates of the workspace's list other than these.
    CratesBut(&'static [&'static str]),
    /// These modules of its own crate.
    Modules(&'static [&'static str]),
    /// Modules of its own crate other than these and itself.
    ModulesBut(&'static [&'static str]),
    /// Paths that begin so.
    Paths(&'static [&'static str]),
    /// SQL in string literals.
    Sql,
    /// `$1` in SQL: SQLite reads it as a name and numbers it by first appearance.
    DollarParameters,
    /// These words, in identifiers and string literals.
    Words(&'static [&'static str]),
}

/// Places that are not built yet; they are guarded from the moment they are, and then leave here.
pub const NOT_BUILT_YET: &[&str] = &[];

const OUTSIDE: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
];

const TRACKER_WORDS: &[&str] =
    &["playbook", "tracker", "building", "review", "issues", "pull request", "pull requests"];

/// Every boundary.
pub const BOUNDARIES: &[Boundary] = &[
    Boundary {
        place: "model",
        ban: Ban::Crates(&["abide", "abide_refinement", "rusqlite", "tokio", "axum", "getrandom"]),
        reason: "the model states the law by itself, so that the runtime can be held to it",
    },
    Boundary {
        place: "model/src/law",
        ban: Ban::CratesBut(&["bytemuck", "serde", "schemars"]),
        reason: "a transition is a function of state and action",
    },
    Boundary {
        place: "model/src/law",
        ban: Ban::Paths(OUTSIDE),
        reason: "time and randomness are inputs of an action, never read inside it",
    },
    Boundary {
        place: "model/src/law",
        ban: Ban::Modules(&["graph", "progress", "properties", "traces", "cli"]),
        reason: "the law is explored; it does not know by whom",
    },
    Boundary {
        place: "impl",
        ban: Ban::Crates(&["abide_model", "abide_refinement", "stateright"]),
        reason: "the runtime states the law by itself, so that it can be held to the model",
    },
    Boundary {
        place: "impl/src/domain",
        ban: Ban::ModulesBut(&[]),
        reason: "ids and records depend on nothing, so that everything may depend on them",
    },
    Boundary {
        place: "impl/src/domain",
        ban: Ban::CratesBut(&[
            "serde",
            "serde_json",
            "schemars",
            "type_safe_id",
            "uuid",
            "jiff",
            "sha2",
            "hex",
            "subtle",
            "secrecy",
            "getrandom",
            "thiserror",
        ]),
        reason: "records are values that mint, hash and print themselves: no engine, no runtime",
    },
    Boundary {
        place: "impl/src/domain",
        ban: Ban::Paths(OUTSIDE),
        reason: "records are values: no I/O and no clock",
    },
    Boundary {
        place: "impl/src/command",
        ban: Ban::ModulesBut(&["domain"]),
        reason: "the alphabet is data over records",
    },
    Boundary {
        place: "impl/src/store",
        ban: Ban::ModulesBut(&["domain"]),
        reason: "the store reads and writes rows and decides nothing",
    },
    Boundary {
        place: "impl/src/store",
        ban: Ban::DollarParameters,
        reason: "statements are portable, with `?1` rewritten where an engine needs it",
    },
    Boundary {
        place: "impl/src/law",
        ban: Ban::ModulesBut(&["domain", "command", "store"]),
        reason: "what is allowed does not depend on who asks, or when",
    },
    Boundary {
        place: "impl/src/law",
        ban: Ban::Sql,
        reason: "rules stand in the law and statements in the store, each readable alone",
    },
    Boundary {
        place: "impl/src/law",
        ban: Ban::Crates(&["tokio", "rusqlite", "axum", "hyper", "clap", "rustix", "getrandom"]),
        reason: "a decision waits for nothing and reads nothing but rows",
    },
    Boundary {
        place: "impl/src/law",
        ban: Ban::Paths(OUTSIDE),
        reason: "time and randomness are inputs of a command, never read inside the law",
    },
    Boundary {
        place: "impl/src/points",
        ban: Ban::ModulesBut(&[]),
        reason: "a point is only named: what is done at it is another program's",
    },
    Boundary {
        place: "impl/src/writer",
        ban: Ban::ModulesBut(&["domain", "command", "clock", "store", "law", "points"]),
        reason: "the one door to durable truth does not know who comes through it",
    },
    Boundary {
        place: "impl/src/config",
        ban: Ban::ModulesBut(&["domain", "extension"]),
        reason: "a configuration is checked without a database or a daemon",
    },
    Boundary {
        place: "impl/src/extension",
        ban: Ban::ModulesBut(&["domain"]),
        reason: "an extension sees records, never the runtime or its storage",
    },
    Boundary {
        place: "impl/src/executor",
        ban: Ban::Modules(&["law", "store", "writer", "daemon", "ingress", "console", "cli"]),
        reason: "an executor runs a process and reports; it changes nothing durable itself",
    },
    Boundary {
        place: "impl/src/conformance",
        ban: Ban::ModulesBut(&["domain", "extension"]),
        reason: "the suite sees of an executor what a host sees of it",
    },
    Boundary {
        place: "impl/src/keeper",
        ban: Ban::ModulesBut(&["domain", "extension", "files", "points"]),
        reason: "a keeper outlives its daemon, so it may not need it",
    },
    Boundary {
        place: "impl/src/daemon",
        ban: Ban::Modules(&["api", "console", "cli"]),
        reason: "loops decide when, and nobody asks them anything",
    },
    // What an evaluation reads, `law::routing` says once for all; everything else of the law goes through the writer.
    Boundary {
        place: "impl/src/daemon",
        ban: Ban::Paths(&["crate::law::apply", "crate::law::NO_EFFECT_ROWS_PER_MINUTE"]),
        reason: "loops decide when, never what is allowed",
    },
    Boundary {
        place: "impl/src/evaluation",
        ban: Ban::Modules(&["writer", "daemon", "api", "serve", "executor", "keeper", "cli"]),
        reason: "an evaluation reads and proposes",
    },
    Boundary {
        place: "impl/src/host",
        ban: Ban::Modules(&["law", "daemon", "api", "serve", "console", "cli"]),
        reason: "what loops and doors share knows neither",
    },
    Boundary {
        place: "impl/src/serve",
        ban: Ban::Modules(&["law", "cli"]),
        reason: "the composition of a daemon puts parts together and decides nothing",
    },
    Boundary {
        place: "impl/src/backup",
        ban: Ban::ModulesBut(&["domain", "command", "clock", "files", "store", "writer"]),
        reason: "files are moved whole; what a restore makes true is the law's, through the writer",
    },
    Boundary {
        place: "impl/src/backup",
        ban: Ban::Sql,
        reason: "only the store speaks to an engine",
    },
    Boundary {
        place: "impl/src/backup",
        ban: Ban::Crates(&["rusqlite"]),
        reason: "only the store speaks to an engine",
    },
    Boundary {
        place: "impl/src/ingress",
        ban: Ban::Modules(&["law", "daemon", "executor", "keeper", "cli"]),
        reason: "a hook translates bytes to commands",
    },
    Boundary {
        place: "impl/src/api",
        ban: Ban::Modules(&["law", "daemon", "executor", "keeper", "cli"]),
        reason: "a door translates requests to commands and rows to answers",
    },
    Boundary {
        place: "impl/src/cli",
        ban: Ban::Modules(&["law"]),
        reason: "the command line goes through the same door as everyone else",
    },
    Boundary {
        place: "impl/src/cli",
        ban: Ban::Crates(&["rusqlite"]),
        reason: "only the store speaks to an engine",
    },
    Boundary {
        place: "impl/src/domain",
        ban: Ban::Words(TRACKER_WORDS),
        reason: "what a tracker or a playbook calls things stays in adapters",
    },
    Boundary {
        place: "impl/src/law",
        ban: Ban::Words(TRACKER_WORDS),
        reason: "what a tracker or a playbook calls things stays in adapters",
    },
    Boundary {
        place: "impl/src/store",
        ban: Ban::Words(TRACKER_WORDS),
        reason: "what a tracker or a playbook calls things stays in adapters",
    },
    Boundary {
        place: "impl/src/writer",
        ban: Ban::Words(TRACKER_WORDS),
        reason: "what a tracker or a playbook calls things stays in adapters",
    },
    Boundary {
        place: "impl/src/daemon",
        ban: Ban::Words(TRACKER_WORDS),
        reason: "what a tracker or a playbook calls things stays in adapters",
    },
];
