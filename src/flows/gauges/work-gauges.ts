/** What `work` and `recover` of this process have at present. */
export interface WorkGauges {
  /** How many flows they have taken over that have not ended: those at work, and those that wait. */
  readonly flows: number;
  /** How many of them could go on, and wait for one of the places that `concurrency` gives. */
  readonly queued: number;
}

/** Something that has such flows. */
export interface Working {
  readonly load: WorkGauges;
}
