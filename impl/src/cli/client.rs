//! One exchange with a door: a connection, a request, its whole answer. What an answer means, and
//! whether to ask again, is for the caller to say.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::api::tool_types::Problem;
use crate::keeper::socket;

/// One answer takes no longer; a door that is slower is treated as unreachable.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// What is asked of a door.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    /// Path and query.
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
    /// What makes a repeat of this call the same call.
    pub(super) idempotency_key: Option<String>,
}

/// What it answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path, Bytes::new())
    }

    pub(super) fn new(method: Method, path: impl Into<String>, body: Bytes) -> Self {
        let content_type = "application/json";
        Self { method, path: path.into(), content_type, body, idempotency_key: None }
    }

    fn request(self, token: &str) -> io::Result<Request<Full<Bytes>>> {
        let wrong = |error: hyper::http::Error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "the token is not printable text")
        })?;
        bearer.set_sensitive(true);
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .header(HOST, "abide")
            .header(CONTENT_TYPE, self.content_type)
            .header(AUTHORIZATION, bearer);
        if let Some(key) = self.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        request.body(Full::new(self.body)).map_err(wrong)
    }
}

/// Asks the door at a Unix socket.
///
/// # Errors
/// There was no whole answer: the call may or may not have taken effect.
pub(super) async fn ask(door: &Path, token: &str, call: Call) -> io::Result<Answer> {
    let request = call.request(token)?;
    let asked = async { over(socket::connect(door).await?, request).await };
    timeout(ANSWER_MAX, asked).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Sends one request over a connection and reads the whole answer.
///
/// # Errors
/// There was no whole answer.
pub(super) async fn over<S>(stream: S, request: Request<Full<Bytes>>) -> io::Result<Answer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    connection.abort();
    Ok(Answer { status, body })
}

/// The problem a door answered, or what stands for one if something else listens there.
pub(super) fn problem(answer: &Answer) -> Problem {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| Problem {
        status: answer.status.as_u16(),
        code: format!("http_{}", answer.status.as_u16()),
        title: "the door answered without saying why".into(),
        detail: None,
    })
}
