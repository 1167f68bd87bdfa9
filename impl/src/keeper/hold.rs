//! The keeper's own course: held, running, clearing, ended.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::control::{self, Order, Shared};
use super::folder::{self, Ending, ExitFile, Folder, KeeperFile, ProcessFile};
use super::identity::{Identity, Stat};
use super::inbox::{Inbox, Output};
use super::processes::{after, running_below, stop_all};
use super::protocol::{Launch, Ready, State, read_line};
use super::{OLDEST, VERSION, socket};
use crate::domain::Token;
use crate::extension::executor::Stopped;
use crate::points::{Point, Points};

/// Pause before something that must succeed is tried again; only a full disk or an exhausted
/// system gets here.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a segment that has not proceeded waits for a daemon to come back, unless its folder
/// goes. One that was never pinned waits in vain, and costs no more than that.
const HOSTLESS_MAX: Duration = Duration::from_secs(3600);

/// A keeper that could not begin. Nothing was started.
#[derive(Debug, thiserror::Error)]
#[error("keeper: cannot {doing}: {error}")]
pub struct KeeperError {
    doing: &'static str,
    error: io::Error,
}

/// Holds the segment of this folder to its end. The launcher writes a [`Launch`] line on standard
/// input and reads a [`Ready`] line on standard output.
///
/// # Errors
/// It could not begin, and nothing was started. Later trouble is written to standard error and
/// waited out, because whoever holds a process may not leave it.
pub async fn keep(path: &Path, points: Points) -> Result<(), KeeperError> {
    let mut keeper = Keeper::begin(path, points).await?;
    let (ending, stopped) = match keeper.held().await {
        Held::Proceed => keeper.run().await,
        Held::Over(why) => (Ending::NotStarted(why.to_owned()), NOTHING),
    };
    keeper.finish(ending, stopped).await;
    Ok(())
}

const NOTHING: Stopped = Stopped { signalled: false, forced: false };

struct Keeper {
    folder: Folder,
    me: Identity,
    launch: Launch,
    /// Ends when the launcher does, and has a byte if it lets go; not read once the segment
    /// proceeds.
    leash: BufReader<pipe::Receiver>,
    state: watch::Sender<State>,
    orders: mpsc::Receiver<Order>,
    /// What the command reads; `None` if it reads nothing.
    inbox: Option<Arc<Inbox>>,
    children: Signal,
    terminate: Signal,
    points: Points,
}

enum Held {
    Proceed,
    Over(&'static str),
}

impl Keeper {
    async fn begin(path: &Path, points: Points) -> Result<Self, KeeperError> {
        let path = own_world(path)?;
        let (leash, launch) = read_launch().await?;
        points.pass(Point::Begun);
        let folder = Folder::at(path);
        let reads = launch.input || launch.events;
        let inbox = reads.then(|| Inbox::open(folder.inbox()).map(Arc::new));
        let inbox = inbox.transpose().map_err(cannot("open the inbox"))?;
        let me = Identity::current().map_err(cannot("read /proc"))?;
        let secret = Token::random()
            .map_err(|error| cannot("draw a secret")(io::Error::other(error.to_string())))?;
        introduce(&folder, &me, &secret).map_err(cannot("write the folder"))?;
        points.pass(Point::Introduced);
        let children = signal(SignalKind::child()).map_err(cannot("catch signals"))?;
        let terminate = signal(SignalKind::terminate()).map_err(cannot("catch signals"))?;
        let listener = socket::listen(&folder.socket()).map_err(cannot("listen"))?;
        let (state, seen) = watch::channel(State::Held);
        let (give, orders) = mpsc::channel(8);
        let shared = Shared {
            keeper: me.clone(),
            secret: secret.hash(),
            folder: folder.clone(),
            state: seen,
            orders: give,
            inbox: inbox.clone(),
            over: OnceLock::new(),
            points,
        };
        tokio::spawn(control::serve(listener, Arc::new(shared)));
        announce(&me, launch.version).map_err(cannot("announce itself"))?;
        points.pass(Point::Ready);
        Ok(Self { folder, me, launch, leash, state, orders, inbox, children, terminate, points })
    }

    /// Waits for the word to start. A launcher that lets go says so; one that is gone may have
    /// pinned the segment before, so that the next daemon has some time to take it over. OURS-20
    async fn held(&mut self) -> Held {
        let mut word = [0; 1];
        let mut hostless = None;
        loop {
            let alone = hostless.is_some();
            tokio::select! {
                // A word that was given counts, even if its giver is gone since.
                biased;
                Some(order) = self.orders.recv() => return match order {
                    Order::Proceed => Held::Proceed,
                    Order::Stop { .. } => Held::Over("stopped before it was started"),
                },
                _ = self.terminate.recv() => {
                    return Held::Over("the keeper was told to end before the start");
                }
                read = self.leash.read(&mut word), if !alone => match read {
                    Ok(1..) => return Held::Over("let go before the start: nothing was run"),
                    Ok(0) | Err(_) => hostless = Some(Instant::now() + HOSTLESS_MAX),
                },
                () = sleep(AGAIN), if alone => {
                    let over = hostless.is_some_and(|until| Instant::now() >= until);
                    if over || !self.folder.path().exists() {
                        return Held::Over("no daemon came back to start it: nothing was run");
                    }
                }
            }
        }
    }

    /// Starts the command and sees everything of it to its end.
    async fn run(&mut self) -> (Ending, Stopped) {
        self.points.pass(Point::Told);
        let leader = match self.start() {
            Ok(leader) => leader,
            Err(why) => return (Ending::NotStarted(why), NOTHING),
        };
        self.state.send_replace(State::Running { pid: leader });
        let deadline = self.watch(leader).await;
        self.points.pass(Point::Exited);
        self.state.send_replace(State::Stopping);
        self.clear(leader, deadline).await
    }

    fn start(&self) -> Result<i32, String> {
        let (program, arguments) = self.launch.command.split_first().ok_or("no command is set")?;
        let log = |path| open_log(path).map_err(|error| format!("cannot open its output: {error}"));
        let input = self.launch.input && self.inbox.is_some();
        // It is there before the command is, so that the command may rely on it.
        let events = if input { None } else { self.events()? };
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(&self.launch.dir)
            .env_clear()
            .envs(self.launch.env.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(if input { Stdio::piped() } else { Stdio::null() })
            .stdout(log(self.folder.stdout())?)
            .stderr(log(self.folder.stderr())?)
            .spawn()
            .map_err(|error| format!("cannot start {program:?}: {error}"))?;
        let leader = i32::try_from(child.id()).map_err(|_| "a process id out of range")?;
        self.points.pass(Point::Spawned);
        self.record(leader);
        self.points.pass(Point::Recorded);
        if let Some(inbox) = &self.inbox {
            feed(Arc::clone(inbox), child.stdin.take(), events);
        }
        // Dropping the child neither waits for it nor ends it; it is reaped last of all.
        Ok(leader)
    }

    /// The file that the command reads its lines in.
    fn events(&self) -> Result<Option<Output>, String> {
        if self.inbox.is_none() {
            return Ok(None);
        }
        let file = Output::file(&self.folder.events());
        file.map(Some).map_err(|error| format!("cannot make its inbox: {error}"))
    }

    /// Leaves what finds the command again should this keeper be killed. The command runs already,
    /// so failing to write is no reason to give it up.
    fn record(&self, leader: i32) {
        let written = Stat::read(leader).and_then(|stat| {
            let start_time = stat.map_or(0, |stat| stat.start_time);
            let leader = Identity { pid: leader, start_time, ..self.me.clone() };
            self.folder.write_process(&ProcessFile { version: VERSION, leader })
        });
        if let Err(error) = written {
            complain("record its process", &error);
        }
    }

    /// Until the command has exited or is to end. Answers until when the rest has time.
    async fn watch(&mut self, leader: i32) -> Instant {
        let grace = Duration::from_millis(self.launch.grace_ms);
        loop {
            // Peeked at, not reaped: while it is a zombie its id and its group stay its own.
            if has_exited(leader) {
                return after(grace);
            }
            self.reap_strays(leader);
            tokio::select! {
                _ = self.children.recv() => {}
                _ = self.terminate.recv() => return after(grace),
                Some(order) = self.orders.recv() => match order {
                    Order::Proceed => {}
                    Order::Stop { grace } => return after(grace),
                },
            }
        }
    }

    /// Ends everything and reaps it: what runs, then the command, then whatever a look at `/proc`
    /// missed. All of it is below this process, which is the reaper of its descendants, so that
    /// having no child left is the kernel's own word that nothing is left.
    async fn clear(&mut self, leader: i32, mut deadline: Instant) -> (Ending, Stopped) {
        let mut stopped = self.stop_below(&mut deadline).await;
        let ending = reap(leader).await;
        loop {
            self.reap_strays(leader);
            if !has_children() {
                return (ending, stopped);
            }
            let more = self.stop_below(&mut deadline).await;
            stopped.forced |= more.forced;
            // A child that `/proc` does not show us: only its own end is left to wait for.
            tokio::select! {
                _ = self.children.recv() => {}
                () = sleep(AGAIN) => {}
            }
        }
    }

    /// Ends what is found; a further order can only shorten its time.
    async fn stop_below(&mut self, deadline: &mut Instant) -> Stopped {
        let me = self.me.pid;
        loop {
            match self.stop_until(me, deadline).await {
                None => {}
                Some(Ok(stopped)) => return stopped,
                Some(Err(error)) => {
                    complain("end what is left", &error);
                    sleep(AGAIN).await;
                }
            }
        }
    }

    /// `None` once an order has shortened the time. Any other order leaves what is under way as it is, or
    /// it would be forgotten that something had to be forced.
    async fn stop_until(&mut self, me: i32, deadline: &mut Instant) -> Option<io::Result<Stopped>> {
        let mut stopping = std::pin::pin!(stop_all(|| running_below(me), *deadline));
        loop {
            tokio::select! {
                stopped = &mut stopping => return Some(stopped),
                Some(order) = self.orders.recv() => match order {
                    Order::Stop { grace } if after(grace) < *deadline => {
                        *deadline = after(grace);
                        return None;
                    }
                    Order::Stop { .. } | Order::Proceed => {}
                },
            }
        }
    }

    /// Reaps descendants whose parents are gone, so that they do not pile up.
    fn reap_strays(&self, leader: i32) {
        let Ok(all) = Stat::all() else { return };
        for stray in all.iter().filter(|s| s.parent == self.me.pid && s.pid != leader) {
            // Still running, or reaped since: either way there is nothing to do.
            drop(wait_for(stray.pid, WaitIdOptions::EXITED | WaitIdOptions::NOHANG));
        }
    }

    async fn finish(self, ending: Ending, stopped: Stopped) {
        self.points.pass(Point::Cleared);
        self.state.send_replace(State::Ended { ending: ending.clone() });
        let exit = ExitFile {
            version: VERSION,
            keeper: self.me,
            ending,
            forced: stopped.forced,
            inbox: self.inbox.map(|inbox| inbox.progress()),
        };
        while let Err(error) = self.folder.write_exit(&exit) {
            complain("write how it ended", &error);
            // A folder that was removed has nobody who will look into it.
            if !self.folder.path().is_dir() {
                break;
            }
            sleep(AGAIN).await;
        }
        self.points.pass(Point::Said);
        drop(std::fs::remove_file(self.folder.socket()));
    }
}

/// Leaves the launcher's session, so that nothing sent to it arrives here, and becomes the parent
/// of orphaned descendants.
fn own_world(path: &Path) -> Result<PathBuf, KeeperError> {
    let path = std::path::absolute(path).map_err(cannot("find the folder"))?;
    folder::check_private(&path).map_err(cannot("use the folder"))?;
    rustix::process::setsid().map_err(|error| cannot("leave the session")(error.into()))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| cannot("reap descendants")(error.into()))?;
    std::env::set_current_dir("/").map_err(cannot("leave the folder"))?;
    // Its image may have no name of its own any more; people look for one.
    drop(std::fs::write("/proc/self/comm", "abide-keeper"));
    Ok(path)
}

async fn read_launch() -> Result<(BufReader<pipe::Receiver>, Launch), KeeperError> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().map_err(cannot("use standard input"))?;
    let pipe = pipe::Receiver::from_owned_fd(stdin).map_err(cannot("use standard input"))?;
    let mut leash = BufReader::new(pipe);
    let launch: Option<Launch> = read_line(&mut leash).await.map_err(cannot("read the launch"))?;
    match launch {
        Some(launch) if (OLDEST..=VERSION).contains(&launch.version) => Ok((leash, launch)),
        Some(_) => Err(cannot("read the launch")(io::Error::other("another version"))),
        None => Err(cannot("read the launch")(io::ErrorKind::UnexpectedEof.into())),
    }
}

fn introduce(folder: &Folder, me: &Identity, secret: &Token) -> io::Result<()> {
    folder.write_secret(secret)?;
    let file = KeeperFile { version: VERSION, keeper: me.clone(), secret: secret.hash() };
    folder.write_keeper(&file)
}

/// In the version of the launch, which is one that the launcher knows.
fn announce(me: &Identity, version: u32) -> io::Result<()> {
    let ready = Ready { version, keeper: me.clone() };
    let mut line = serde_json::to_vec(&ready)?;
    line.push(b'\n');
    let mut stdout = io::stdout();
    io::Write::write_all(&mut stdout, &line)?;
    io::Write::flush(&mut stdout)
}

/// Writes the inbox to the command for as long as it reads: on its standard input, or else in its
/// file.
fn feed(inbox: Arc<Inbox>, input: Option<ChildStdin>, events: Option<Output>) {
    tokio::spawn(async move {
        let output = match input {
            Some(input) => {
                pipe::Sender::from_owned_fd(input.into()).map(|pipe| Some(Output::Pipe(pipe)))
            }
            None => Ok(events),
        };
        let fed = match output {
            Ok(Some(output)) => inbox.feed(output).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match fed {
            Ok(()) => {}
            // It reads no more, which is its own affair.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => complain("write the command's input", &error),
        }
    });
}

fn open_log(path: PathBuf) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Whether the command has exited; it is not reaped by this.
pub(super) fn has_exited(pid: i32) -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // No such child any more is as exited as can be.
    !matches!(wait_for(pid, peek), Ok(None))
}

fn has_children() -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, peek), Err(Errno::CHILD))
}

/// Reaps the command, which has exited, and tells how it ended.
async fn reap(leader: i32) -> Ending {
    loop {
        match wait_for(leader, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(status)) => return ending(&status),
            Ok(None) => sleep(AGAIN).await,
            Err(error) => return Ending::Unknown(error.to_string()),
        }
    }
}

fn wait_for(pid: i32, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(waitid(WaitId::Pid(pid), options)?)
}

fn ending(status: &WaitIdStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Killed(signal),
        (None, None) => Ending::Unknown("neither a status nor a signal".into()),
    }
}

fn cannot(doing: &'static str) -> impl Fn(io::Error) -> KeeperError {
    move |error| KeeperError { doing, error }
}

/// Standard error is `keeper.log`.
pub(super) fn complain(doing: &str, error: &io::Error) {
    drop(io::Write::write_fmt(&mut io::stderr(), format_args!("cannot {doing}: {error}\n")));
}
