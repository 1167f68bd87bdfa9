//! What the shell executor remembers of a segment: its metadata, once pinned.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::extension::executor::Metadata;
use crate::keeper::VERSION;
use crate::keeper::client::KeeperRef;
use crate::keeper::folder::{ExitFile, Folder};

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
    pub(super) fn exit(&self, segments: &Path) -> std::io::Result<Option<ExitFile>> {
        let exit = self.folder(segments).read_exit()?;
        Ok(exit.filter(|exit| exit.keeper == self.keeper.keeper))
    }
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

    #[test]
    fn a_folder_outside_the_segments_is_not_followed() {
        for name in ["../x", "/etc", "a/b", "..", ""] {
            assert!(Segment::read(&segment(name).metadata()).is_err(), "{name}");
        }
    }
}
