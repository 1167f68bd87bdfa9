//! Named points between two commits or calls, passed by the daemon and by each keeper.
//!
//! In `abide` nothing happens there, and nothing can be made to: who wants to be told of them has to
//! be another program, which calls [`crate::cli::main_passing`] with a function of its own. The
//! drills of `tests/` do, to end a process at each of them. It may never return.

/// Where a process is. All of a daemon's state is in its database, so that its points are before
/// and after each commit, and where it has told or is about to tell a process something; what else it
/// does is on one side of a neighbouring point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The command is done in a transaction that is not committed. Whatever ends the daemon here,
    /// it never happened.
    Committing(&'static str),
    /// The command is durable, and whoever asked for it is not answered yet.
    Committed(&'static str),
    /// An executor has answered a control, `inject` or `interrupt`, and the answer is not committed.
    Answered(&'static str),
    /// The process of a segment that lost its authority is about to be stopped.
    Stopping,
    /// A keeper knows what it is to hold, and nothing in its folder tells of it.
    Begun,
    /// Its folder says who it is; nobody can reach it.
    Introduced,
    /// It has said that it is ready, and holds a segment that has not proceeded.
    Ready,
    /// It is told to proceed; nothing is started.
    Told,
    /// The command runs; no file tells of it.
    Spawned,
    /// `process.json` tells of the command.
    Recorded,
    /// The command has exited, or everything is to be stopped.
    Exited,
    /// Nothing of the segment runs any more; no file says how it ended.
    Cleared,
    /// `exit.json` says how it ended; the keeper is about to go.
    Said,
    /// The token of an adopted segment is replaced; its new host is not told.
    Replaced,
    /// A line that was delivered is durable; whoever delivered it is not told.
    Delivered,
    /// It is durable that the command is to be stopped; whoever said so is not told.
    Interrupted,
}

impl Point {
    /// Its name, in two words at most.
    #[must_use]
    pub const fn name(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Committing(command) => ("committing", Some(command)),
            Self::Committed(command) => ("committed", Some(command)),
            Self::Answered(control) => ("answered", Some(control)),
            Self::Stopping => ("stopping", None),
            Self::Begun => ("begun", None),
            Self::Introduced => ("introduced", None),
            Self::Ready => ("ready", None),
            Self::Told => ("told", None),
            Self::Spawned => ("spawned", None),
            Self::Recorded => ("recorded", None),
            Self::Exited => ("exited", None),
            Self::Cleared => ("cleared", None),
            Self::Said => ("said", None),
            Self::Replaced => ("replaced", None),
            Self::Delivered => ("delivered", None),
            Self::Interrupted => ("interrupted", None),
        }
    }
}

/// Who is told of points.
#[derive(Debug, Clone, Copy)]
pub struct Points(fn(Point));

impl Points {
    /// Nobody.
    pub const UNHEARD: Self = Self(|_| {});

    /// A function of another program.
    #[must_use]
    pub const fn told_to(hears: fn(Point)) -> Self {
        Self(hears)
    }

    /// The process is there now.
    pub fn pass(self, point: Point) {
        (self.0)(point);
    }
}

impl PartialEq for Points {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Points {}
