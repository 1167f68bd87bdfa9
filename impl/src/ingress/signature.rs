//! HMAC-SHA-256 over the raw body, in the form GitHub made common.

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use super::IngressError;
use crate::config::Ingress;

/// The header that carries `sha256=` and 64 hexadecimal digits.
pub const SIGNATURE_HEADER: &str = "x-hub-signature-256";

/// Any secret of the ingress may have signed the body, so that secrets can be rotated. Every one
/// is tried, in constant time, whether or not an earlier one matched.
pub(super) fn verify(
    ingress: &Ingress,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), IngressError> {
    if ingress.secrets.is_empty() {
        // Only a configuration that says `unsigned` on loopback has none.
        return Ok(());
    }
    let header = headers.get(SIGNATURE_HEADER);
    let header = header.ok_or(IngressError::MissingSignature { header: SIGNATURE_HEADER })?;
    let given = parse(header.as_bytes()).ok_or(IngressError::WrongSignature)?;
    let mut verified = Choice::from(0);
    for secret in &ingress.secrets {
        verified |= sign(secret.expose().as_bytes(), body).ct_eq(&given);
    }
    if bool::from(verified) { Ok(()) } else { Err(IngressError::WrongSignature) }
}

fn parse(header: &[u8]) -> Option<[u8; 32]> {
    let digits = header.strip_prefix(b"sha256=")?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(bytes)
}

pub(super) fn sign(secret: &[u8], body: &[u8]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(secret);
    let mut mac = mac.expect("HMAC takes a key of any length");
    mac.update(body);
    mac.finalize().into_bytes().into()
}
