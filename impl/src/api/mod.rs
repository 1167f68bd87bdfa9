//! The doors: bytes to commands, rows to bytes. `hooks` takes deliveries, `operator` serves people and programs,
//! `tool` serves attempts. No door decides what is allowed.

pub mod accept;
pub mod auth;
pub mod door;
mod extract;
pub mod hooks;
pub mod limits;
pub mod operator;
pub mod problem;
pub mod reload;
pub mod text;
pub mod tool;
pub mod tool_types;
pub mod types;
