//! The highest incarnation that was ever given out in a state folder, in a file of its own: what it
//! says outlives the database, and every file that was put aside. OURS-21

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::beside;
use crate::domain::Incarnation;
use crate::files::write_whole;

/// Longer than any number it can hold.
const LONGEST: u64 = 32;

/// Where it is said: `abide.db.incarnation`.
pub(super) fn place(database: &Path) -> PathBuf {
    beside(database, ".incarnation")
}

/// What is remembered beside a database; 0 if nothing is.
///
/// # Errors
/// The file cannot be read, or says something else.
pub(super) fn read(database: &Path) -> io::Result<Incarnation> {
    let place = place(database);
    let other = || {
        let what = "it holds no incarnation: write the highest that was ever given out into it, as \
                    the names of the files that were put aside tell it, or move it away";
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    match fs::metadata(&place) {
        Ok(meta) if !meta.is_file() || meta.len() > LONGEST => return Err(other()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Incarnation(0)),
        Err(error) => return Err(error),
    }
    fs::read_to_string(&place)?.trim().parse().map(Incarnation).map_err(|_| other())
}

/// Remembers an incarnation durably, unless a higher one is remembered already.
///
/// # Errors
/// The file cannot be read or written, or says something else.
pub fn remember(database: &Path, incarnation: Incarnation) -> io::Result<()> {
    if read(database)? >= incarnation {
        return Ok(());
    }
    write_whole(&place(database), format!("{incarnation}\n").as_bytes())
}
