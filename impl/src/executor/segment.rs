//! What an executor remembers of a segment: its metadata, once pinned.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::domain::AttemptUid;
use crate::extension::executor::Metadata;
use crate::keeper::client::KeeperRef;
use crate::keeper::folder::{ExitFile, Folder};

/// Version of the metadata. What is added must be harmless to a daemon that does not know it: a
/// daemon may be replaced by an older one, too.
const VERSION: u32 = 1;

/// A segment under a keeper. It holds no secret, only what one hashes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    version: u32,
    /// Name of its folder among the segments; the state folder itself may be moved.
    folder: String,
    #[serde(flatten)]
    pub(super) keeper: KeeperRef,
}

impl Segment {
    pub(super) const fn new(folder: String, keeper: KeeperRef) -> Self {
        Self { version: VERSION, folder, keeper }
    }

    /// Reads metadata back. It comes from the database, but a name that leaves the segments would
    /// be followed all the same, so it is looked at.
    pub(super) fn read(metadata: &Metadata) -> Result<Self, String> {
        let segment: Self = serde_json::from_str(&metadata.0)
            .map_err(|error| format!("its metadata is not this executor's: {error}"))?;
        if segment.version != VERSION {
            return Err(format!("its metadata is of version {}", segment.version));
        }
        let plain = Path::new(&segment.folder).file_name() == Some(segment.folder.as_ref());
        if plain { Ok(segment) } else { Err("its metadata names no segment folder".into()) }
    }

    pub(super) fn metadata(&self) -> Metadata {
        let text = serde_json::to_string(self).expect("a segment is plain data with text keys");
        Metadata(text)
    }

    pub(super) fn name(&self) -> &str {
        &self.folder
    }

    pub(super) fn folder(&self, segments: &Path) -> Folder {
        Folder::at(segments.join(&self.folder))
    }

    /// How it ended, if its own keeper has said so.
    pub(super) fn exit(&self, segments: &Path) -> io::Result<Option<ExitFile>> {
        let exit = self.folder(segments).read_exit()?;
        Ok(exit.filter(|exit| exit.keeper == self.keeper.keeper))
    }
}

/// Segments of an attempt, whichever claim they are of, as their folders show them.
pub(super) fn of_attempt(segments: &Path, attempt: AttemptUid) -> io::Result<Vec<Metadata>> {
    let prefix = format!("{attempt}-");
    let mut found = Vec::new();
    for entry in fs::read_dir(segments)? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if !name.starts_with(&prefix) {
            continue;
        }
        if let Some(file) = Folder::at(segments.join(&name)).read_keeper()? {
            let keeper = KeeperRef { keeper: file.keeper, secret: file.secret };
            found.push(Segment::new(name, keeper).metadata());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Token;
    use crate::keeper::identity::Identity;

    fn segment(folder: &str) -> Segment {
        let keeper = Identity { boot_id: "b".into(), pid: 7, start_time: 9 };
        let secret = Token::from_bytes([7; 32]).hash();
        Segment::new(folder.into(), KeeperRef { keeper, secret })
    }

    #[test]
    fn metadata_is_read_back_as_it_was() {
        assert_eq!(Segment::read(&segment("att_1-1").metadata()), Ok(segment("att_1-1")));
    }

    /// OURS-21
    #[test]
    fn the_segments_of_an_attempt_are_found_by_their_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        let attempt = |n| AttemptUid::from_uuid(uuid::Uuid::from_u128(n));
        let (one, other) = (attempt(1), attempt(2));
        assert_eq!(of_attempt(folder.path(), one).expect("it is looked for"), []);
        let launched = |name: &str| {
            let made = Folder::create(folder.path().join(name)).expect("a segment's folder");
            let KeeperRef { keeper, secret } = segment(name).keeper;
            let file = crate::keeper::folder::KeeperFile { version: 2, keeper, secret };
            made.write_keeper(&file).expect("it is written");
        };
        let names = [format!("{one}-1"), format!("{one}-1000000001")];
        names.iter().for_each(|name| launched(name));
        launched(&format!("{other}-1"));
        // Its keeper never came up, so that nothing can have been started.
        Folder::create(folder.path().join(format!("{one}-3"))).expect("a segment's folder");
        let mut found = of_attempt(folder.path(), one).expect("it is looked for");
        found.sort_by_key(|metadata| metadata.0.len());
        assert_eq!(found, names.map(|name| segment(&name).metadata()));
        let broken = folder.path().join(format!("{one}-1")).join("keeper.json");
        fs::write(broken, "{").expect("damage");
        of_attempt(folder.path(), one).expect_err("it may run");
        of_attempt(&folder.path().join("none"), one).expect_err("nothing can be looked at");
    }

    #[test]
    fn a_folder_outside_the_segments_is_not_followed() {
        for name in ["../x", "/etc", "a/b", "..", ""] {
            assert!(Segment::read(&segment(name).metadata()).is_err(), "{name}");
        }
    }
}
