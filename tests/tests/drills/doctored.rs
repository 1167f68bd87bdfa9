//! A journal that somebody has changed by hand.

use abide::store::journal::{self, Seal};
use abide::store::{Engine as _, Store, Tx as _};

use crate::ground::{Failed, Ground, said};

/// OURS-14
#[test]
fn a_journal_row_that_was_doctored_by_hand_is_found() {
    let ground = drilled().unwrap_or_else(|failed| panic!("{failed}"));
    ground.doctor().expect("it is sound");
    let changes = [
        "UPDATE journal SET facts = replace(facts, '\"completed\"', '\"failed\"') \
         WHERE action = 'complete'",
        "UPDATE journal SET actor = 'loop:mallory' WHERE action = 'claim'",
        "UPDATE journal SET at = at - 1 WHERE action = 'pin'",
        "DELETE FROM journal WHERE action = 'commit_route'",
    ];
    for change in changes {
        let undone = doctored(&ground, change, false).unwrap_or_else(|failed| panic!("{failed}"));
        let found = ground.doctor().expect_err("it is found");
        assert!(found.contains("the journal's chain holds"), "{change}: {found}");
        std::fs::copy(undone, ground.database()).expect("it is undone");
        ground.doctor().expect("it is sound again");
    }
}

/// Whoever can make the chain anew is still found out by the law: what is written there cannot have been answered.
#[test]
fn a_doctored_row_under_a_new_chain_is_found_by_the_audit() {
    let ground = drilled().unwrap_or_else(|failed| panic!("{failed}"));
    ground.audit().expect("it is lawful");
    let changes = [
        // A result that was refused, and one that came from nowhere.
        "UPDATE journal SET outcome = 'refused', facts = '\"not_running\"' \
         WHERE action = 'complete'",
        "UPDATE journal SET action = 'fail' WHERE action = 'complete'",
        // A launch that was never handed over.
        "UPDATE journal SET outcome = 'duplicate' WHERE action = 'clear_never_handed'",
    ];
    for change in changes {
        let undone = doctored(&ground, change, true).unwrap_or_else(|failed| panic!("{failed}"));
        ground.doctor().expect("the chain holds, and nothing else says otherwise");
        let found = ground.audit().expect_err("it is found");
        assert!(found.contains("the audit objects: row"), "{change}: {found}");
        std::fs::copy(undone, ground.database()).expect("it is undone");
        ground.audit().expect("it is lawful again");
    }
}

/// A drill's database, at rest.
fn drilled() -> Result<Ground, Failed> {
    let mut ground = Ground::new(&[])?;
    ground.emit("one", "task.works", "one")?;
    ground.settle(1)?;
    ground.end()?;
    Ok(ground)
}

/// Changes a database by hand, and its chain as well if that is wanted. Answers where it is kept as it was.
fn doctored(ground: &Ground, change: &str, chained: bool) -> Result<std::path::PathBuf, Failed> {
    let (database, kept) = (ground.database(), ground.path().join("kept.db"));
    let hand = rusqlite::Connection::open(&database).map_err(said)?;
    hand.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(said)?;
    std::fs::copy(&database, &kept).map_err(said)?;
    let changed = hand.execute(change, []).map_err(said)?;
    if changed == 0 {
        return Err(format!("nothing is changed by: {change}"));
    }
    if chained {
        chain_anew(&database)?;
    }
    hand.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(said)?;
    Ok(kept)
}

/// As somebody would who knows how the chain is made.
fn chain_anew(database: &std::path::Path) -> Result<(), Failed> {
    let store = Store::open(database).map_err(said)?;
    let mut session = store.session();
    session.begin().map_err(said)?;
    let seals = journal::seals_since(&mut session, 0, u32::MAX).map_err(said)?;
    let mut link = Seal::START;
    for seal in seals {
        link = journal::link(&mut session, link, Some(seal.n)).map_err(said)?;
        let values = [seal.n.into(), link.chain.as_slice().into()];
        session.execute("UPDATE seal SET chain = ?2 WHERE n = ?1", &values).map_err(said)?;
    }
    session.commit().map_err(said)
}
