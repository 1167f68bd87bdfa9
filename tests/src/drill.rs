//! What a drill tells `abide-drill`, and what that leaves: files of one folder beside the configuration.
//!
//! | file of `drill/` | written by | says |
//! |---|---|---|
//! | `plan` | the test | a [`Step`] a line, one after the other: who is killed, and where |
//! | `hits.N` | daemon and keepers | a byte each time the point of step N was passed |
//! | `fired.N` | the one that killed | the process id of whom, or `nobody`; step N is done once |
//! | `daemon` | the daemon | its [`Identity`] |
//!
//! A process is known by its identity and killed through a handle on it, never by its number alone: when its turn comes,
//! the number may be another's. LEASE-15

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use abide::keeper::folder::{KeeperFile, read_json};
use abide::keeper::identity::{Identity, Stat, boot_id};
use abide::points::Point;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// The process that serves.
    Daemon,
    /// The holder of the newest segment.
    Keeper,
    /// What that holds.
    Command,
}

impl Victim {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Keeper => "keeper",
            Self::Command => "command",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Daemon, Self::Keeper, Self::Command].into_iter().find(|one| one.name() == name)
    }
}

/// One kill of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Who is killed.
    pub victim: Victim,
    /// When the point is passed for the how-manieth time since the last kill, from 1.
    pub nth: u64,
    /// Where, as [`Point::name`] has it.
    pub point: String,
}

impl Step {
    /// At the first passing of a point.
    #[must_use]
    pub fn at(victim: Victim, point: &str) -> Self {
        Self { victim, nth: 1, point: point.to_owned() }
    }

    /// At a later passing.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self { nth, ..self }
    }

    fn parse(line: &str) -> Option<Self> {
        let (victim, rest) = line.split_once(' ')?;
        let (nth, point) = rest.split_once(' ')?;
        let (victim, nth) = (Victim::named(victim)?, nth.parse().ok()?);
        Some(Self { victim, nth, point: point.to_owned() })
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.victim.name(), self.nth, self.point)
    }
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fired {
    /// The process of this id was killed.
    Killed(i32),
    /// There was no such process, or none any more.
    Nobody,
}

impl Fired {
    /// Reads a whole line; `None` if it is not written yet.
    fn parse(text: &str) -> Option<Self> {
        let word = text.strip_suffix('\n')?;
        Some(word.parse().map_or(Self::Nobody, Self::Killed))
    }
}

impl std::fmt::Display for Fired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Killed(pid) => write!(f, "{pid}"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

/// A killed process is gone after so long, or the machine is.
const GONE_MAX: Duration = Duration::from_secs(20);

/// A keeper that lives, and the folder of its segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The segment's folder.
    pub segment: PathBuf,
    /// Who holds it.
    pub keeper: Identity,
}

impl Held {
    /// Every one under a state folder, the oldest first.
    ///
    /// # Errors
    /// A folder or `/proc` cannot be read.
    pub fn all(state: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for segment in entries(&state.join("segments"))? {
            let file = segment.join("keeper.json");
            let Some(KeeperFile { keeper, .. }) = read_json(&file)? else { continue };
            if keeper.is_alive()? {
                found.push((file.metadata()?.modified()?, Self { segment, keeper }));
            }
        }
        found.sort_by_key(|(written, _)| *written);
        Ok(found.into_iter().map(|(_, held)| held).collect())
    }

    /// Its command, if it runs.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn command(&self) -> io::Result<Option<Identity>> {
        command_of(&self.keeper)
    }
}

/// What a keeper holds, if it runs.
///
/// # Errors
/// `/proc` cannot be read.
pub fn command_of(keeper: &Identity) -> io::Result<Option<Identity>> {
    let child = |stat: &Stat| stat.parent == keeper.pid && stat.runs();
    let Some(stat) = Stat::all()?.into_iter().find(child) else { return Ok(None) };
    // A parent that still lives is the one that was meant.
    Ok(if keeper.is_alive()? { Some(identity(stat)?) } else { None })
}

/// The process that has this id now, if one runs.
///
/// # Errors
/// `/proc` cannot be read.
pub fn running_as(pid: i32) -> io::Result<Option<Identity>> {
    Stat::read(pid)?.filter(Stat::runs).map(identity).transpose()
}

fn identity(stat: Stat) -> io::Result<Identity> {
    Ok(Identity { boot_id: boot_id()?, pid: stat.pid, start_time: stat.start_time })
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Kills this very process with SIGKILL and returns once it is gone. One that was gone before, or whose id is another's by
/// now, was not killed, and nobody else is.
///
/// # Errors
/// It cannot be killed, or does not go.
pub fn kill(victim: &Identity) -> io::Result<Fired> {
    let id = Pid::from_raw(victim.pid).ok_or(io::ErrorKind::InvalidInput)?;
    let handle = match pidfd_open(id, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(Errno::SRCH) => return Ok(Fired::Nobody),
        Err(error) => return Err(error.into()),
    };
    // The id may have been another's when the handle was made; and a zombie would take the signal.
    if !victim.is_alive()? {
        return Ok(Fired::Nobody);
    }
    match pidfd_send_signal(&handle, Signal::KILL) {
        Ok(()) => {}
        Err(Errno::SRCH) => return Ok(Fired::Nobody),
        Err(error) => return Err(error.into()),
    }
    let begun = Instant::now();
    while victim.is_alive()? {
        if begun.elapsed() > GONE_MAX {
            return Err(io::Error::other("a killed process does not go"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Fired::Killed(victim.pid))
}

/// A step whose turn has come, to be done by whoever holds this.
#[derive(Debug)]
pub struct Turn {
    step: Step,
    fired: File,
}

impl Turn {
    /// Whom it is to kill.
    #[must_use]
    pub const fn victim(&self) -> Victim {
        self.step.victim
    }

    /// Kills, and says what came of it. Who kills itself says so first, because it never comes back; hence a kill that
    /// came too late is taken back.
    ///
    /// # Errors
    /// The file cannot be written, or the victim cannot be killed; then nobody was.
    pub fn kill(mut self, victim: Option<&Identity>) -> io::Result<Fired> {
        let Some(victim) = victim else {
            self.say(&Fired::Nobody)?;
            return Ok(Fired::Nobody);
        };
        self.say(&Fired::Killed(victim.pid))?;
        let killed = kill(victim);
        if !matches!(killed, Ok(Fired::Killed(_))) {
            self.say(&Fired::Nobody)?;
        }
        killed
    }

    fn say(&mut self, fired: &Fired) -> io::Result<()> {
        self.fired.rewind()?;
        self.fired.set_len(0)?;
        self.fired.write_all(format!("{fired}\n").as_bytes())
    }
}

/// The folder of a drill.
#[derive(Debug, Clone)]
pub struct Drill(PathBuf);

impl Drill {
    /// Makes the folder, with a plan.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn plan(beside: &Path, steps: &[Step]) -> io::Result<Self> {
        let drill = Self(beside.join("drill"));
        fs::create_dir_all(&drill.0)?;
        let lines: Vec<String> = steps.iter().map(|step| format!("{step}\n")).collect();
        fs::write(drill.0.join("plan"), lines.concat())?;
        Ok(drill)
    }

    /// The drill that lies nearest above a path.
    #[must_use]
    pub fn above(path: &Path) -> Option<Self> {
        let found = path.ancestors().map(|folder| folder.join("drill"));
        found.into_iter().find(|drill| drill.join("plan").is_file()).map(Self)
    }

    /// The folder in which it lies.
    #[must_use]
    pub fn beside(&self) -> &Path {
        self.0.parent().unwrap_or(&self.0)
    }

    /// Names this process as the daemon.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn serve(&self) -> io::Result<()> {
        let (file, new) = (self.0.join("daemon"), self.0.join("daemon.new"));
        fs::write(&new, serde_json::to_vec(&Identity::current()?)?)?;
        fs::rename(new, file)
    }

    /// Who served last.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn daemon(&self) -> io::Result<Option<Identity>> {
        read_json(&self.0.join("daemon"))
    }

    /// What steps came to, in order, as far as they were reached.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn fired(&self) -> io::Result<Vec<Fired>> {
        let mut fired = Vec::new();
        loop {
            match fs::read_to_string(self.file("fired", fired.len())) {
                Ok(text) => match Fired::parse(&text) {
                    Some(said) => fired.push(said),
                    None => return Ok(fired),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(fired),
                Err(error) => return Err(error),
            }
        }
    }

    /// Notes that a point is passed; the step whose turn that makes it.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn pass(&self, point: Point) -> io::Result<Option<Turn>> {
        let done = self.fired()?.len();
        let plan = fs::read_to_string(self.0.join("plan"))?;
        let Some(step) = plan.lines().nth(done).and_then(Step::parse) else { return Ok(None) };
        let (first, second) = point.name();
        let name = second.map_or_else(|| first.to_owned(), |second| format!("{first} {second}"));
        if step.point != name {
            return Ok(None);
        }
        let mut hits =
            OpenOptions::new().create(true).append(true).open(self.file("hits", done))?;
        hits.write_all(b".")?;
        if hits.metadata()?.len() != step.nth {
            return Ok(None);
        }
        match OpenOptions::new().write(true).create_new(true).open(self.file("fired", done)) {
            Ok(fired) => Ok(Some(Turn { step, fired })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn file(&self, name: &str, step: usize) -> PathBuf {
        self.0.join(format!("{name}.{step}"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn a_step_is_done_once_and_in_its_turn() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let steps = [
            Step::at(Victim::Daemon, "committed pin").nth(2),
            Step::at(Victim::Keeper, "recorded"),
        ];
        let drill = Drill::plan(folder.path(), &steps).expect("a plan");
        let found = Drill::above(&folder.path().join("state/segments/x")).expect("it is found");
        let passes = |point| {
            let turn = found.pass(point).expect("it is read")?;
            let step = turn.step.clone();
            turn.kill(None).expect("it is written");
            Some(step)
        };
        assert_eq!(passes(Point::Recorded), None, "its turn has not come");
        assert_eq!(passes(Point::Committed("pin")), None, "the first time");
        assert_eq!(passes(Point::Committing("pin")), None, "another point");
        assert_eq!(passes(Point::Committed("pin")), Some(steps[0].clone()));
        assert_eq!(passes(Point::Committed("pin")), None, "it was done");
        assert_eq!(passes(Point::Recorded), Some(steps[1].clone()));
        assert_eq!(passes(Point::Recorded), None, "the plan is over");
        assert_eq!(drill.fired().expect("it is read"), [Fired::Nobody, Fired::Nobody]);
    }

    fn sleeper() -> (Child, Identity) {
        let child = Command::new("sleep").arg("600").spawn().expect("it starts");
        let pid = i32::try_from(child.id()).expect("an id");
        let identity = running_as(pid).expect("/proc is there").expect("it runs");
        (child, identity)
    }

    /// What a step says of a kill of this victim, and what the folder says.
    fn shot(victim: &Identity) -> (Fired, Vec<Fired>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let plan = [Step::at(Victim::Command, "spawned")];
        let drill = Drill::plan(folder.path(), &plan).expect("a plan");
        let turn = drill.pass(Point::Spawned).expect("it is read").expect("its turn has come");
        assert_eq!(drill.fired().expect("it is read"), [], "nothing is said yet");
        let said = turn.kill(Some(victim)).expect("it can be killed");
        (said, drill.fired().expect("it is read"))
    }

    #[test]
    fn only_a_process_that_was_there_counts_as_killed() {
        let (mut child, victim) = sleeper();
        let killed = Fired::Killed(victim.pid);
        assert_eq!(shot(&victim), (killed.clone(), vec![killed]));
        let nobody = (Fired::Nobody, vec![Fired::Nobody]);
        assert_eq!(shot(&victim), nobody, "a zombie");
        child.wait().expect("it is gone");
        assert_eq!(shot(&victim), nobody, "none of this id, or another");
    }

    /// LEASE-15
    #[test]
    fn a_process_that_only_has_the_number_is_left_alone() {
        let (mut child, victim) = sleeper();
        let other = Identity { start_time: victim.start_time + 1, ..victim };
        assert_eq!(shot(&other), (Fired::Nobody, vec![Fired::Nobody]));
        assert!(child.try_wait().expect("it is ours").is_none(), "it lives on");
        child.kill().and_then(|()| child.wait()).expect("it ends");
    }

    #[test]
    fn where_there_is_no_plan_there_is_no_drill() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(Drill::above(&folder.path().join("abide.toml")).is_none());
    }
}
