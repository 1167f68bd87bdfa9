//! Inheritance by name: what a scope has of its own laid over what it inherits.
//!
//! Slots keep the order of the scope that first named them. A nearer entry of the same name takes
//! the slot over whole, nothing of the farther one survives; a new name gets a slot at the end; a
//! disabled one leaves without moving the others. ROUTE-04 ROUTE-06 ROUTE-07 BIND-01 BIND-07 BIND-09

use std::sync::Arc;

use super::problem::{At, Problems};
use super::section::{Section, suggestion};

/// One named entry of a scope.
pub(super) struct Own<'a, T> {
    pub(super) name: &'a str,
    pub(super) at: &'a At,
    pub(super) entry: Entry<T>,
}

/// What an entry says.
pub(super) enum Entry<T> {
    /// It defines the name here.
    Set(Arc<T>),
    /// It removes the inherited one.
    Disabled,
    /// It has problems, and its name is known all the same.
    Broken,
}

impl<T> Entry<T> {
    /// An entry that was read, or could not be.
    pub(super) fn of(read: Option<T>) -> Self {
        read.map_or(Self::Broken, |value| Self::Set(Arc::new(value)))
    }
}

/// Effective entries in their order.
#[derive(Debug)]
pub(super) struct Slots<T>(Vec<Slot<T>>);

#[derive(Debug)]
struct Slot<T> {
    name: String,
    /// `None` for one with problems.
    value: Option<Arc<T>>,
}

// Derived ones would ask `T` for what sharing does not need.
impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        let slot = |slot: &Slot<T>| Slot { name: slot.name.clone(), value: slot.value.clone() };
        Self(self.0.iter().map(slot).collect())
    }
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Slots<T> {
    /// These slots as a scope below changes them; `what` is a thing of that scope in a message.
    pub(super) fn under(
        &self,
        own: Vec<Own<'_, T>>,
        scope: &str,
        what: &str,
        problems: &Problems,
    ) -> Self {
        let mut slots = self.clone();
        for Own { name, at, entry } in own {
            match entry {
                Entry::Set(value) => slots.set(name, Some(value)),
                Entry::Broken => slots.set(name, None),
                Entry::Disabled if slots.knows(name) => slots.0.retain(|slot| slot.name != name),
                Entry::Disabled => {
                    let name = name.escape_debug();
                    let message = format!("{scope} inherits no {what} named `{name}`");
                    let next = suggestion(&name.to_string(), &self.names());
                    problems.add("nothing_to_disable", at, message, next);
                }
            }
        }
        slots
    }

    fn set(&mut self, name: &str, value: Option<Arc<T>>) {
        match self.0.iter_mut().find(|slot| slot.name == name) {
            Some(slot) => slot.value = value,
            None => self.0.push(Slot { name: name.to_owned(), value }),
        }
    }

    /// Whether there is a slot of this name, with problems or without.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.0.iter().any(|slot| slot.name == name)
    }

    /// Every name, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|slot| slot.name.as_str()).collect()
    }

    /// Every entry without problems, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.iter().filter_map(|slot| slot.value.as_ref())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a section removes what is inherited under its name; then it may say nothing else.
pub(super) fn disables(section: &Section<'_>, problems: &Problems) -> bool {
    if !section.truth("disable") {
        return false;
    }
    if let Some((word, at)) = section.other_than(&["name", "disable"]) {
        let message = format!("{} is disabled and says `{word}`", section.what);
        let next = "keep `disable = true` alone, or leave it out to replace what is inherited";
        problems.add("contradiction", at, message, next);
    }
    true
}
