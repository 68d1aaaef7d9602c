//! Leaves servers that coding agents start, at `.mcp.json`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/mcp_servers",
    what: "leaves servers that coding agents start",
    attempt: |t| super::plant(t, ".mcp.json"),
    check: |scene| scene.not_planted(&[".mcp.json"]),
    ..BASE
};
