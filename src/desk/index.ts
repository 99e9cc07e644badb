/**
 * A page for the operators of a `PaymentFlow`: what waits for them, and what they decide.
 *
 * @module
 */
export { operatorDesk } from "./desk.js";
export type { DeskEvent, DeskEvents, DeskFlow, DeskUser, OperatorDeskOptions } from "./desk-options.js";
export { deskListener, type NodeRequest, type NodeResponse } from "./node-listener.js";
