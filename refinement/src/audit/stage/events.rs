//! Events that the rows before accepted, each staged as what counts of it: what it says, where it stands, and what is still
//! to come of it.

use abide_model::outcome::RouteMark;
use abide_model::state::{Event, Input, Wait};

use super::super::facts::Born;
use super::shape::WaitShape;
use super::{Asks, At, DEPTH, Decides, DoesWhat, Offer, Placed, Stage};

impl Stage<'_> {
    /// Puts an accepted event on the stage as one that a sender delivered: all that counts of it is what it says.
    pub(in crate::audit) fn event(&mut self, seq: i64) -> At {
        if let Some(placed) =
            self.placed.iter().find(|placed| !placed.boundary && placed.seq == Some(seq))
        {
            return placed.at;
        }
        let Some(event) = self.ledger.event(seq) else {
            return self.offer(self.blank());
        };
        if let Born::Timeout(wait) = event.born
            && let Some(at) = self.waits.iter().position(|(known, _)| *known == Some(wait))
        {
            let at = At::Timeout(u8::try_from(at).unwrap_or_default());
            self.put(at, seq);
            return at;
        }
        let event = *event;
        let target = event.target.map(|work| self.work(work).0);
        let key = event.key.map(|key| self.key(key));
        let (scope, kind) = (self.scope(event.scope), self.kind(event.kind));
        let offer = Offer { key, target, scope, kind, ..self.blank() };
        let at = self.offer(offer);
        self.put(at, seq);
        at
    }

    /// Puts an accepted event on the stage with a decision about it.
    pub(in crate::audit) fn decided(&mut self, seq: i64, decides: Decides) -> At {
        let at = self.event(seq);
        if let At::Delivery(delivery) = at {
            self.shape.deliveries[usize::from(delivery)].decides = decides;
        }
        at
    }

    /// Puts an accepted event of core's own on the stage, of which nothing counts but that.
    pub(in crate::audit) fn cores(&mut self, seq: i64) -> At {
        let at = self.event(seq);
        if let At::Delivery(delivery) = at {
            self.shape.deliveries[usize::from(delivery)].asks = Some(Asks::Release(0));
        }
        at
    }

    /// Puts an accepted alias on the stage as one, for a wait that is over.
    pub(in crate::audit) fn alias(&mut self, seq: i64) -> At {
        let Some(event) = self.ledger.event(seq).copied() else { return self.event(seq) };
        let Some(work) = event.target else { return self.event(seq) };
        let (work, kind) = (self.work(work), self.kind(event.kind));
        let scope = self.scope(event.scope);
        let offer = Offer { kind, scope, ..self.blank() };
        let source = self.offer(offer);
        let At::Delivery(delivery) = source else { return source };
        let shape = WaitShape {
            work: work.0,
            keys: Vec::new(),
            types: Vec::new(),
            timeout: false,
            source: Some((0, scope, vec![delivery])),
        };
        let wait = self.add_wait(None, shape, Wait::default());
        let at = At::Alias(wait.0, delivery);
        self.replace(at, seq);
        at
    }

    /// Puts an accepted event on the stage of which a subscription can select nothing.
    pub(in crate::audit) fn mute(&mut self, seq: i64) -> At {
        let at = self.offer(self.blank());
        self.replace(at, seq);
        if let Some(placed) = self.placed.iter_mut().find(|placed| placed.at == at) {
            placed.key = None;
        }
        at
    }

    /// Puts the end of a turn on the stage, which never resolves to the Work that published it. WAIT-06
    pub(in crate::audit) fn published(&mut self, seq: i64, decides: Decides) -> At {
        let publisher = self.ledger.event(seq).and_then(|event| event.publisher);
        match publisher {
            Some(work) if decides.does == DoesWhat::Decline => {
                let work = self.work(work);
                let at = self.turn(work, 1);
                self.put(at, seq);
                at
            }
            Some(_) | None => {
                // Its key has an owner, so that it makes no Work.
                let at = self.mute(seq);
                if let At::Delivery(delivery) = at {
                    let decides = Decides { proposes: None, ..decides };
                    self.shape.deliveries[usize::from(delivery)].decides = decides;
                }
                at
            }
        }
    }

    /// Puts an accepted event at a place of its own, wherever it stands.
    pub(in crate::audit) fn replace(&mut self, at: At, seq: i64) {
        self.placed.retain(|placed| placed.boundary || placed.seq != Some(seq));
        self.put(at, seq);
    }

    /// Stands at a place, as accepted.
    pub(in crate::audit) fn put(&mut self, at: At, seq: i64) {
        if self.placed.iter().any(|placed| !placed.boundary && placed.seq == Some(seq)) {
            return;
        }
        let Some(event) = self.ledger.event(seq).copied() else { return };
        let work = event.work.map(|work| self.work(work).0);
        if let Some(key) = event.key {
            self.key(key);
        }
        let pending =
            event.work.is_some_and(|work| self.ledger.works[work.0].pending.contains(&seq));
        let staged = Event {
            mark: event.mark,
            depth: DEPTH - u8::try_from(event.left).map_or(DEPTH, |left| left.min(DEPTH)),
            input: if pending { Input::Pending } else { Input::No },
            intent: self.intent(&event),
            ..Event::default()
        };
        self.marks.insert(seq);
        self.placed.push(Placed {
            at,
            seq: Some(seq),
            staged,
            key: event.key,
            work,
            boundary: false,
        });
    }

    /// Changes how an event is staged.
    pub(in crate::audit) fn staged(&mut self, at: At, change: impl FnOnce(&mut Event)) {
        if let Some(placed) = self.placed.iter_mut().find(|placed| placed.at == at) {
            change(&mut placed.staged);
        }
    }

    /// A delivery whose sender signs bodies only, accepted so lately that the same body is suspect. OURS-17
    pub(in crate::audit) fn lately(&mut self) {
        let offer = Offer { signed: true, ..self.blank() };
        let staged = Event { mark: RouteMark::Unmatched, suspect: 1, ..Event::default() };
        self.bound(offer, self.ledger.latest(), staged, None);
    }

    /// An event without meaning at a sequence, as if the last segment had claimed it: a watermark for the model's words.
    pub(in crate::audit) fn boundary(&mut self, seq: i64) {
        let staged = Event { mark: RouteMark::Unmatched, input: Input::Batch, ..Event::default() };
        self.bound(self.blank(), seq, staged, Some(0));
    }

    /// The latest sequence counts even where its event does not.
    pub(super) fn latest(&mut self) {
        let latest = self.ledger.latest();
        if latest > 0 {
            let staged = Event { mark: RouteMark::Unmatched, ..Event::default() };
            self.bound(self.blank(), latest, staged, None);
        }
    }

    /// Puts an event on the stage that stands for a sequence only.
    fn bound(&mut self, offer: Offer, seq: i64, staged: Event, work: Option<u8>) {
        let at = self.offer(offer);
        self.marks.insert(seq);
        let seq = Some(seq);
        self.placed.push(Placed { at, seq, staged, key: None, work, boundary: true });
    }
}
