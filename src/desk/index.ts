/**
 * A web page where operators decide about the held flows of a `PaymentFlow`.
 *
 * @module
 */
export { operatorDesk } from "./desk.js";
export type { DeskEvent, DeskEvents, DeskFlow, DeskUser, OperatorDeskOptions } from "./desk-options.js";
export { deskListener, type NodeRequest, type NodeResponse } from "./node-listener.js";
