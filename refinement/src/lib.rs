//! The runtime held to the law: model and runtime perform the same actions and are compared after each.
//!
//! [`commands`] is the only place where the two alphabets meet. A [`subject::Subject`] is anything that performs the
//! alphabet and can be observed; [`lockstep`] walks a whole world beside one, [`crash`] makes one lose and keep commits,
//! [`corpus`] follows class traces, [`broken`] holds the negative controls.

pub mod audit;
pub mod binding;
pub mod broken;
pub mod commands;
pub mod corpus;
pub mod crash;
pub mod difference;
pub mod lockstep;
pub mod names;
pub mod observation;
pub mod reference;
pub mod replay;
pub mod runs;
pub mod runtime;
pub mod sharing;
pub mod subject;
