//! Deliveries that may be offered: what the step is asked to accept, and what the events on a stage say.

use abide_model::index::{WorkIx, below};

use super::super::facts::NameNo;
use super::{Asks, At, Decides, EVENTS, Offer, Stage, TooLarge};

impl Stage<'_> {
    /// A delivery that may be offered, not accepted yet.
    pub(in crate::audit) fn offer(&mut self, offer: Offer) -> At {
        if self.shape.deliveries.len() >= EVENTS {
            self.too_large.get_or_insert(TooLarge("one row concerns more than 96 events"));
            return At::Delivery(0);
        }
        self.shape.deliveries.push(offer);
        At::Delivery(below(self.shape.deliveries.len()).end - 1)
    }

    /// A delivery with nothing to say, under an identity of its own.
    pub(in crate::audit) fn blank(&self) -> Offer {
        Offer {
            key: None,
            target: None,
            scope: 0,
            kind: 0,
            core: false,
            identity: below(self.shape.deliveries.len().min(usize::from(u8::MAX))).end,
            body: 0,
            signed: false,
            decides: Decides::NOTHING,
            asks: None,
        }
    }

    /// A delivery that says something: kind and scope by name.
    pub(in crate::audit) fn says(&mut self, kind: NameNo, scope: NameNo) -> Offer {
        let (kind, scope) = (self.kind(kind), self.scope(scope));
        Offer { kind, scope, ..self.blank() }
    }

    /// A request: the event it became, if it was made before.
    pub(in crate::audit) fn request(&mut self, known: Option<i64>) -> At {
        match known {
            Some(seq) => self.mute(seq),
            None => self.offer(self.blank()),
        }
    }

    /// Says whose request a delivery is.
    pub(in crate::audit) fn asks(&mut self, by: At, asks: Asks) {
        self.change(by, |offer| offer.asks = Some(asks));
    }

    /// Says which Work a request would make.
    pub(in crate::audit) fn proposes(&mut self, by: At, work: WorkIx) {
        self.change(by, |offer| offer.decides.proposes = Some(work.0));
    }

    /// Changes what a delivery says.
    pub(in crate::audit) fn change(&mut self, at: At, change: impl FnOnce(&mut Offer)) {
        if let At::Delivery(delivery) = at {
            change(&mut self.shape.deliveries[usize::from(delivery)]);
        }
    }
}
