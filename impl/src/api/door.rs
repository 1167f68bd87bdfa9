//! A door: a socket, the HTTP spoken on it, and what keeps one caller from taking it all.
//!
//! What a door answers is decided by the router it is given; here are only limits, time and the
//! order in which a socket becomes reachable.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::limits::Limits;
use super::problem::ApiError;

/// How long requests under way may take to finish once the daemon stops.
const LINGER: Duration = Duration::from_secs(3);

/// Pause after the system refused a connection, as when it is out of file descriptors.
const BREATH: Duration = Duration::from_millis(50);

/// A socket that listens.
#[derive(Debug)]
pub enum Listener {
    /// An address of the network.
    Tcp(TcpListener),
    /// A file in a private folder.
    Unix(UnixListener),
}

/// A bound door: it queues callers from here on and answers them once it is served.
#[derive(Debug)]
pub struct Door {
    /// Its name, as announced and logged.
    pub name: &'static str,
    /// Where it is, as announced.
    pub address: String,
    /// Its socket.
    pub listener: Listener,
    /// What it takes.
    pub limits: Limits,
}

impl Door {
    /// Binds an address of the network; port 0 takes any.
    ///
    /// # Errors
    /// The address is taken, or not of this machine.
    pub async fn tcp(name: &'static str, address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?.to_string();
        Ok(Self { name, address, listener: Listener::Tcp(listener), limits })
    }

    /// Binds a Unix socket that only this user can open. A socket left by an earlier daemon is
    /// replaced: the caller holds the database's lock.
    ///
    /// # Errors
    /// The folder is not there, or the path is longer than sockets allow (about 100 bytes).
    pub fn unix(name: &'static str, path: &Path, limits: Limits) -> io::Result<Self> {
        let listener = bind_private(path)?;
        let address = path.display().to_string();
        Ok(Self { name, address, listener: Listener::Unix(listener), limits })
    }

    /// Answers callers until the daemon stops, then lets requests under way finish for a moment.
    pub async fn serve(self, router: Router, mut stop: watch::Receiver<bool>) {
        let Self { name, listener, limits, .. } = self;
        let service = limited(router, limits, stop.clone());
        let slots = Arc::new(Semaphore::new(limits.connections));
        let mut open = JoinSet::new();
        loop {
            while open.try_join_next().is_some() {}
            let slot = Arc::clone(&slots).acquire_owned();
            let next = async { (slot.await, accept(&listener).await) };
            let (slot, stream) = tokio::select! {
                accepted = next => accepted,
                () = stopped(&mut stop) => break,
            };
            match stream {
                Ok(stream) => {
                    let connection = talk(stream, service.clone(), limits, stop.clone());
                    open.spawn(async move {
                        connection.await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(door = name, %error, "cannot take a connection");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
        drop(listener);
        let finished = async { while open.join_next().await.is_some() {} };
        if tokio::time::timeout(LINGER, finished).await.is_err() {
            tracing::warn!(door = name, "closed with requests under way");
        }
    }
}

/// Resolves once the daemon stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    drop(stop.wait_for(|stop| *stop).await);
}

/// Any stream a door can talk on.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

async fn accept(listener: &Listener) -> io::Result<Box<dyn Stream>> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Listener::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
    }
}

/// Speaks HTTP/1.1 on one connection until either side closes it.
async fn talk(
    stream: Box<dyn Stream>,
    service: Router,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // A caller that goes away, or sends what is no HTTP, is its own affair.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The limits that stand before every address of a door.
#[derive(Debug, Clone)]
struct Gate {
    requests: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    limits: Limits,
    stop: watch::Receiver<bool>,
}

fn limited(router: Router, limits: Limits, stop: watch::Receiver<bool>) -> Router {
    let gate = Gate {
        requests: Arc::new(Semaphore::new(limits.requests)),
        bodies: Arc::new(Semaphore::new(limits.bodies)),
        limits,
        stop,
    };
    router
        .fallback(async || ApiError::no_route())
        .method_not_allowed_fallback(async || ApiError::no_method())
        // A body was read and bounded before any extractor sees it.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(gate, pass))
}

/// Lets a request in if there is room, with its whole body, and bounds how long it may take.
async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match admit(&gate, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn admit(gate: &Gate, request: Request, next: Next) -> Result<Response, ApiError> {
    if *gate.stop.borrow() {
        return Err(ApiError::draining());
    }
    let _slot = gate.requests.try_acquire().map_err(|_| ApiError::full())?;
    let begun = tokio::time::Instant::now();
    let (head, body) = request.into_parts();
    let size = announced(&head.headers, gate.limits.body)?;
    let permits = u32::try_from(size).map_err(|_| ApiError::too_large(gate.limits.body as u64))?;
    let _memory = gate.bodies.try_acquire_many(permits).map_err(|_| ApiError::full())?;
    let whole = axum::body::to_bytes(body, gate.limits.body);
    let body = tokio::time::timeout(gate.limits.body_time, whole)
        .await
        .map_err(|_| ApiError::too_slow())?
        .map_err(|error| unread(&error, gate.limits.body))?;
    let answer = next.run(Request::from_parts(head, body.into()));
    tokio::time::timeout_at(begun + gate.limits.time, answer)
        .await
        .map_err(|_| ApiError::no_answer())
}

/// How much memory a body may come to need: what it says of itself, or as much as is allowed.
fn announced(headers: &axum::http::HeaderMap, max: usize) -> Result<usize, ApiError> {
    use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match said.and_then(|text| text.parse::<u64>().ok()) {
        Some(said) if said > max as u64 => Err(ApiError::too_large(max as u64)),
        Some(said) => Ok(usize::try_from(said).unwrap_or(max)),
        // Without either header there is no body.
        None if headers.contains_key(TRANSFER_ENCODING) => Ok(max),
        None => Ok(0),
    }
}

fn unread(error: &axum::Error, max: usize) -> ApiError {
    use std::error::Error as _;

    let limit =
        error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
    if limit {
        ApiError::too_large(max as u64)
    } else {
        ApiError::malformed("the connection ended before the body was complete")
    }
}

/// Binds beside its place, closes it to others, and only then gives it its name: nobody can
/// connect to a socket that is still open to everybody.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let beside: PathBuf = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let bound = bind_and_close(&beside).and_then(|listener| {
        std::fs::rename(&beside, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        drop(std::fs::remove_file(&beside));
    }
    bound
}

fn bind_and_close(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::os::unix::fs::MetadataExt;

    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tower::ServiceExt as _;

    use super::*;
    use crate::api::limits::TOOL;

    const SMALL: Limits = Limits { requests: 1, body: 16, bodies: 16, ..TOOL };

    fn door(limits: Limits, stop: watch::Receiver<bool>) -> Router {
        limited(Router::new().route("/", post(async |body: String| body)), limits, stop)
    }

    fn request(body: Body) -> Request {
        Request::post("/").body(body).expect("a request")
    }

    async fn code(router: &Router, request: Request) -> (u16, String) {
        let response = router.clone().oneshot(request).await.expect("it answers");
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 8 << 20).await.expect("it is whole");
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        (status, problem["code"].as_str().unwrap_or_default().to_owned())
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused_announced_or_not() {
        let (_stop, stopping) = watch::channel(false);
        let router = door(SMALL, stopping);
        assert_eq!(code(&router, request("x".repeat(16).into())).await.0, 200);
        let too_large = (413, "payload_too_large".to_owned());
        let announced = Request::post("/")
            .header("content-length", "17")
            .body(Body::empty())
            .expect("a request");
        assert_eq!(code(&router, announced).await, too_large);
        let chunked = Request::post("/")
            .header("transfer-encoding", "chunked")
            .body(Body::from("x".repeat(17)))
            .expect("a request");
        assert_eq!(code(&router, chunked).await, too_large);
    }

    /// INGRESS-10: what the framework would take by itself is less.
    #[tokio::test]
    async fn a_body_is_taken_as_far_as_the_door_allows() {
        let (_stop, stopping) = watch::channel(false);
        let router = door(crate::api::limits::HOOKS, stopping.clone());
        assert_eq!(code(&router, request("x".repeat(3 << 20).into())).await.0, 200);
        let bench = crate::daemon::tests::Bench::new().await;
        let mut config = crate::config::Config::clone(&bench.context.current().config);
        for ingress in &mut config.ingresses {
            ingress.max = 25 << 20;
        }
        bench.context.configs.replace(crate::domain::Generation(1), config);
        let hooks = crate::api::hooks::router(Arc::clone(&bench.context));
        let hooks = limited(hooks, crate::api::limits::HOOKS, stopping);
        let event = serde_json::json!({
            "specversion": "1.0", "id": "1", "source": "my:app", "type": "t.a",
            "data": { "n": 1, "text": "x".repeat(3 << 20) },
        });
        let delivery = Request::post("/hooks/plain")
            .header("content-type", "application/cloudevents+json")
            .body(Body::from(event.to_string()))
            .expect("a request");
        assert_eq!(code(&hooks, delivery).await, (202, String::new()));
    }

    #[tokio::test]
    async fn a_door_that_has_as_much_as_it_takes_says_so_until_there_is_room() {
        let (_stop, stopping) = watch::channel(false);
        let router = door(SMALL, stopping);
        let mut slow = Box::pin(code(&router, request(endless())));
        assert!(
            std::future::poll_fn(|task| std::task::Poll::Ready(slow.as_mut().poll(task)))
                .await
                .is_pending()
        );
        assert_eq!(code(&router, request(Body::empty())).await, (503, "full".to_owned()));
        drop(slow);
        assert_eq!(code(&router, request(Body::empty())).await.0, 200);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_given_up() {
        let (_stop, stopping) = watch::channel(false);
        let router = door(Limits { body_time: Duration::from_millis(1), ..SMALL }, stopping);
        let given_up = (408, "request_timeout".to_owned());
        assert_eq!(code(&router, request(endless())).await, given_up);
    }

    /// A body that never ends.
    fn endless() -> Body {
        struct Never;
        impl hyper::body::Body for Never {
            type Data = hyper::body::Bytes;
            type Error = Infallible;

            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Infallible>>>
            {
                std::task::Poll::Pending
            }
        }
        Body::new(Never)
    }

    #[tokio::test]
    async fn what_is_not_there_is_a_problem_too_and_a_stopping_door_sends_away() {
        let (stop, stopping) = watch::channel(false);
        let router = door(SMALL, stopping);
        let nowhere = Request::post("/nowhere").body(Body::empty()).expect("a request");
        assert_eq!(code(&router, nowhere).await, (404, "not_found".to_owned()));
        let get = Request::get("/").body(Body::empty()).expect("a request");
        assert_eq!(code(&router, get).await, (405, "method_not_allowed".to_owned()));
        stop.send_replace(true);
        assert_eq!(code(&router, request(Body::empty())).await, (503, "draining".to_owned()));
    }

    #[tokio::test]
    async fn a_socket_is_closed_to_others_replaces_an_old_one_and_speaks() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.sock");
        drop(Door::unix("a", &path, SMALL).expect("it is bound"));
        let next = Door::unix("a", &path, SMALL).expect("it is bound over the old one");
        assert_eq!(std::fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
        let (stop, stopping) = watch::channel(false);
        let router = Router::new().route("/", post(async || StatusCode::NO_CONTENT));
        let served = tokio::spawn(next.serve(router, stopping));
        let mut stream = tokio::net::UnixStream::connect(&path).await.expect("it listens");
        stream.write_all(b"POST / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it is sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.expect("it answers");
        assert_eq!(&answer, b"HTTP/1.1 204");
        stop.send_replace(true);
        served.await.expect("it ends");
    }
}
