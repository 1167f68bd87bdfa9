//! The secret of one epoch. Only its hash is stored or compared; clear text reaches the keeper's
//! file and nothing else.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// 256 random bits that, with attempt and epoch, are an [`super::Authority`]. Its `Debug` shows
/// nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

/// SHA-256 of a token: safe to store, to log and to send in a command.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenHash(#[serde(with = "hex::serde")] pub [u8; 32]);

impl Token {
    /// A token of these bits.
    #[must_use]
    pub const fn from_bytes(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Fresh bits from the operating system.
    ///
    /// # Errors
    /// The operating system has no randomness to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(bits))
    }

    /// Reads the text form; `None` if it is not 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bits).ok()?;
        Some(Self(bits))
    }

    /// The text form, for the one file its holder reads.
    #[must_use]
    pub fn reveal(&self) -> String {
        hex::encode(self.0)
    }

    /// What is stored and compared.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }
}

impl TokenHash {
    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({}…)", hex::encode(&self.0[..4]))
    }
}
