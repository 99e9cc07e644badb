-------------------------------- MODULE trace --------------------------------
(* Recorded steps of real flows are steps of the specification. `Traces` of the module data has them; TLC finds for each one what was not
   recorded: which owner of a process sent a request, and which look a decision rests on. Reached prints how far each one gets.          *)
EXTENDS flow, data, TLC

VARIABLES t, i, j,        \* the trace, the number of its next step, and that of its next change of the journal
          sendings        \* the claims that were sent, in their order

traced == <<vars, t, i, j, sendings>>
Range(sequence) == {sequence[k] : k \in DOMAIN sequence}

TraceInit == Init /\ t \in DOMAIN Traces /\ i = 1 /\ j = 1 /\ sendings = <<>> /\ TLCSet(t, 0)

Matches(e, c) ==
  /\ c.phase = e.phase
  /\ c.phase \in {"funds-requested", "claimed", "unknown", "held", "refused"} =>
       c.claims = Range(e.claims) /\ c.txn = e.txn /\ c.sure = e.sure
  /\ c.phase = "unknown" => c.no = e.no

(* What is decided on the payment's absence needs a complete look that is part of what is stored. *)
RestsOnLook(o, c) ==
  \/ own[o].view.phase = "unknown" /\ (c.phase = "refused" \/ (c.phase = "funds-requested" /\ ~SingleUse))
  \/ own[o].view.phase = "funds-requested" /\ c.phase = "claimed" /\ own[o].must

Handed(e) == LET o == e.o IN
  \/ own[o].busy # None /\ Matches(e, own[o].busy.c) /\ UNCHANGED vars            \* the same once more
  \/ e.decision = "none" /\ \E c \in Options(o) : Matches(e, c) /\ (RestsOnLook(o, c) => e.sawNothing) /\ Write(o, c, e.mark)
  \/ e.decision # "none" /\ Decide(o, e.decision, e.mark) /\ Matches(e, own'[o].busy.c)

Stored(e) == LET writes == {m \in msgs : m.o = e.o /\ m.rev = e.rev} IN
  IF e.isStored
  THEN \/ \E m \in writes : Store(m)
       \/ IsOwn(e.o) /\ row.rev = e.rev + 1 /\ (\E m \in writes \cap stored : row.c = m.c) /\ UNCHANGED vars
  ELSE (\A m \in writes : ~MayStore(m)) /\ UNCHANGED vars

Restored(e) == \E earlier \in past :
  /\ IF e.o = 0 THEN earlier = None
     ELSE earlier # None /\ earlier.nonce = e.o /\ earlier.rev = e.rev /\ earlier.c.phase = e.phase /\ earlier.lease = e.lease
  /\ Restore(earlier)

Recorded(e) ==
  \/ e.op = "begin" /\ Begin(e.phase)
  \/ e.op = "begin again" /\ BeginAgain(e.o)
  \/ e.op = "replace" /\ ReplaceQuote(e.phase)
  \/ e.op = "acquire" /\ e.wasFree /\ \E seen \in {TRUE, e.isSeen} : Acquire(seen)
  \/ e.op = "renew" /\ ((own[e.o].over /\ Retake(e.o)) \/ UNCHANGED vars)
  \/ e.op = "let go" /\ IF IsOwn(e.o) /\ row.lease THEN LetGo(e.o) ELSE UNCHANGED vars
  \/ e.op = "hand" /\ Handed(e)
  \/ e.op = "store" /\ Stored(e)
  \/ e.op = "learn" /\ Learn(e.o)
  \/ e.op = "prune" /\ Prune
  \/ e.op = "prune quote" /\ PruneQuote
  \/ e.op = "restore" /\ Restored(e)
  \/ e.op = "look" /\ UNCHANGED vars
  \/ e.op = "take" /\ \E o \in Range(e.os) : Take(o, e.answer)
  \/ e.op = "order" /\ \E o \in Range(e.os) : OrderRelease(o)
  \/ e.op = "give" /\ \E o \in Range(e.os) : GiveBack(o)
  \/ e.op = "commit" /\ (Commit(sendings[e.sending]) \/ (sendings[e.sending] \in payments /\ UNCHANGED vars))
  \/ e.op = "listed" /\ IF sendings[e.sending] \in listed THEN UNCHANGED vars ELSE List(sendings[e.sending])

Sent(e) == e.op = "send" /\ \E o \in Range(e.os) : Send(o) /\ sendings' = Append(sendings, own[o].live)

(* That a request was refused shows only in what its owner stores. Flows of a process share what they read. An owner of which nobody saw that
   its lease had ended, and that renewed it, is more careful from then on. *)
Unrecorded(e) ==
  \/ /\ e.op = "hand" /\ e.phase = "unknown" /\ e.no /\ own[e.o].view.phase = "claimed" /\ own[e.o].view.new \in inFlight
     /\ Refuse(own[e.o].view.new)
  \/ /\ e.op = "look"
     /\ \E look \in Range(e.looks) :
          \/ Len(Traces[t].stored) > 0 /\ own[look.o].view.phase = "funds-requested" /\ ~own[look.o].must /\ own[look.o].busy = None /\ Retake(look.o)
          \/ own[look.o].view.phase \in {"funds-requested", "unknown"} /\ \E n \in {0, look.waited} : Look(look.o, n)
          \/ own[look.o].view.phase = "refused" /\ ~own[look.o].knows /\ look.waited = 2 /\ Look(look.o, 2)

Step(e) ==
  \/ Recorded(e) /\ i' = i + 1 /\ UNCHANGED <<t, j, sendings>>
  \/ Sent(e) /\ i' = i + 1 /\ UNCHANGED <<t, j>>
  \/ Unrecorded(e) /\ UNCHANGED <<t, i, j, sendings>>

(* Processes that are killed leave no end of what they did last. Then the changes of the journal are a sequence of their own, and TLC finds
   where each belongs: after what it followed from, and before what followed from it.                                                *)
Change(e) == e.after < i /\ Recorded(e) /\ j' = j + 1 /\ UNCHANGED <<t, i, sendings>>

Knows(e) == "needs" \in DOMAIN e => e.needs < j

TraceNext == LET trace == Traces[t] IN
  \/ i <= Len(trace.steps) /\ Knows(trace.steps[i]) /\ Step(trace.steps[i])
  \/ j <= Len(trace.stored) /\ Change(trace.stored[j])

TraceSpec == TraceInit /\ [][TraceNext]_traced

(* States that differ in owners alone of which nothing more was recorded are one. *)
Seen == <<row, past, inc, msgs, stored, made, service, bank, operators, t, i, j, sendings,
          [o \in DOMAIN own |-> IF Traces[t].ends[o] < i THEN None ELSE own[o]]>>

Taken == i + j - 1
Reached == Taken <= TLCGet(t) \/ (TLCSet(t, Taken) /\ PrintT(<<"reached", t, i, j>>))
(* To see the states before the step that is none of the specification's. *)
IsBefore == Taken < Stop
=============================================================================
