//! What the runtime calls the things of a world: scopes, keys, kinds and ids of its edge.
//!
//! The runtime reads structure out of names where the model has tables: a scope lies in the one whose name begins its
//! own, and a generation of a key is spelled as one. So names are made here from the world's tables.

use abide::domain::{EventUid, Key, WaitUid, WorkUid};
use abide_model::index::{DeliveryIx, WaitIx, WorkIx, below};
use abide_model::worlds::{Delivery, WorkKind, World};
use uuid::Uuid;

/// The namespace of keys, and of the deliveries of senders who sign identities.
pub const SOURCE: &str = "world";

/// The source of a delivery: senders who sign bodies only are told apart by it. OURS-17
#[must_use]
pub fn source(delivery: &Delivery) -> String {
    match delivery.signs {
        None => SOURCE.to_owned(),
        Some(sender) => format!("{SOURCE}/{sender}"),
    }
}

/// The path of a scope, outermost first.
#[must_use]
pub fn scope(world: &World, scope: u8) -> String {
    let own = world.scopes[usize::from(scope)];
    match world.upwards(scope).nth(1) {
        None => own.to_owned(),
        Some(outer) => {
            let outer = self::scope(world, outer);
            match own.strip_prefix(&outer).and_then(|rest| rest.strip_prefix('/')) {
                Some(_) => own.to_owned(),
                None => format!("{outer}/{own}"),
            }
        }
    }
}

/// The scope of a path.
#[must_use]
pub fn scope_of(world: &World, path: &str) -> Option<u8> {
    below(world.scopes.len()).find(|ix| scope(world, *ix) == path)
}

/// The external id of a key.
#[must_use]
pub fn external_id(world: &World, key: u8) -> String {
    let text = |key: u8| world.keys[usize::from(key)];
    let base = world.resource(key);
    let mut generations = std::iter::successors(Some(base), |key| world.next_generation(*key));
    match generations.position(|generation| generation == key) {
        None | Some(0) => text(key).to_owned(),
        Some(nth) => format!("{}/generation/{nth}", text(base)),
    }
}

/// A key.
#[must_use]
pub fn key(world: &World, key: u8) -> Key {
    Key { source: SOURCE.to_owned(), external_id: external_id(world, key) }
}

/// What the world calls a key.
#[must_use]
pub fn key_of(world: &World, key: &Key) -> Option<&'static str> {
    let known = key.source == SOURCE;
    let plain = world.keys.iter().copied().find(|name| *name == key.external_id);
    let found = plain.or_else(|| {
        let ix = below(world.keys.len()).find(|ix| external_id(world, *ix) == key.external_id)?;
        Some(world.keys[usize::from(ix)])
    });
    found.filter(|_| known)
}

/// The kind of that name.
#[must_use]
pub fn kind_of<'w>(world: &'w World, name: &str) -> Option<&'w WorkKind> {
    world.kinds.iter().find(|kind| kind.name == name)
}

/// The edge id of the event a delivery becomes.
#[must_use]
pub fn event_uid(delivery: DeliveryIx) -> EventUid {
    EventUid::from_uuid(numbered(0x65, delivery.0))
}

/// The edge id of a Work that no route makes, or that a route makes as a successor.
#[must_use]
pub fn work_uid(work: WorkIx) -> WorkUid {
    WorkUid::from_uuid(numbered(0x6f, work.0))
}

/// The edge id of a wait of the universe: the same in every history of a world.
#[must_use]
pub fn wait_uid(wait: WaitIx) -> WaitUid {
    WaitUid::from_uuid(numbered(0x77, wait.0))
}

fn numbered(kind: u8, index: u8) -> Uuid {
    let mut bytes = [0; 16];
    bytes[0] = kind;
    bytes[15] = index;
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use abide_model::worlds::{self, World};

    use super::*;

    const NESTED: World = World {
        scopes: &["main", "inner", "main/inner/leaf"],
        inside: &[(1, 0), (2, 1)],
        keys: &["k", "k-again", "k-and-again", "other"],
        generations: &[(0, 1), (1, 2)],
        ..*worlds::ACCEPTANCE
    };

    #[test]
    fn a_scope_is_named_by_its_path_once() {
        let paths: Vec<String> = (0..3).map(|ix| scope(&NESTED, ix)).collect();
        assert_eq!(paths, ["main", "main/inner", "main/inner/leaf"]);
        assert_eq!(scope_of(&NESTED, "main/inner"), Some(1));
        assert_eq!(scope_of(&NESTED, "inner"), None);
    }

    #[test]
    fn a_generation_is_spelled_by_how_many_came_before_and_found_again() {
        let ids: Vec<String> = (0..4).map(|ix| external_id(&NESTED, ix)).collect();
        assert_eq!(ids, ["k", "k/generation/1", "k/generation/2", "other"]);
        let found: Vec<_> = (0..4).map(|ix| key_of(&NESTED, &key(&NESTED, ix))).collect();
        assert_eq!(found, NESTED.keys.iter().map(|name| Some(*name)).collect::<Vec<_>>());
        let foreign = Key { source: "elsewhere".to_owned(), external_id: "k".to_owned() };
        assert_eq!(key_of(&NESTED, &foreign), None);
    }
}
