-------------------------------- MODULE trace --------------------------------
(* Recorded steps of real flows are steps of the specification. `Traces` of the module data has them; TLC finds for each one what was not
   recorded: which owner of a process sent a request, and which look a decision rests on. Reached prints how far each one gets.          *)
EXTENDS flow, data, TLC

VARIABLES t, i,           \* the trace, and the number of its next step
          sendings        \* the claims that were sent, in their order

traced == <<vars, t, i, sendings>>
e == Traces[t][i]
Range(sequence) == {sequence[k] : k \in DOMAIN sequence}

TraceInit == Init /\ t \in DOMAIN Traces /\ i = 1 /\ sendings = <<>> /\ TLCSet(t, 0)

Matches(c) == /\ c.phase = e.phase
              /\ c.phase \in {"funds-requested", "claimed", "unknown", "held", "refused"} =>
                   c.claims = Range(e.claims) /\ c.txn = e.txn /\ c.sure = e.sure
              /\ c.phase = "unknown" => c.no = e.no

(* What is decided on the payment's absence needs a complete look that is part of what is stored. *)
RestsOnLook(o, c) ==
  \/ own[o].view.phase = "unknown" /\ (c.phase = "refused" \/ (c.phase = "funds-requested" /\ ~SingleUse))
  \/ own[o].view.phase = "funds-requested" /\ c.phase = "claimed" /\ own[o].must

Handed == LET o == e.o IN
  \/ own[o].busy # None /\ Matches(own[o].busy.c) /\ UNCHANGED vars            \* the same once more
  \/ e.decision = "none" /\ \E c \in Options(o) : Matches(c) /\ (RestsOnLook(o, c) => e.sawNothing) /\ Write(o, c, e.mark)
  \/ e.decision # "none" /\ Decide(o, e.decision, e.mark) /\ Matches(own'[o].busy.c)

Stored == LET writes == {m \in msgs : m.o = e.o /\ m.rev = e.rev} IN
  IF e.isStored
  THEN \/ \E m \in writes : Store(m)
       \/ IsOwn(e.o) /\ row.rev = e.rev + 1 /\ (\E m \in writes \cap stored : row.c = m.c) /\ UNCHANGED vars
  ELSE (\A m \in writes : ~MayStore(m)) /\ UNCHANGED vars

Restored == \E earlier \in past :
  /\ IF e.o = 0 THEN earlier = None
     ELSE earlier # None /\ earlier.nonce = e.o /\ earlier.rev = e.rev /\ earlier.c.phase = e.phase /\ earlier.lease = e.lease
  /\ Restore(earlier)

Recorded ==
  \/ e.op = "begin" /\ Begin(e.phase)
  \/ e.op = "begin again" /\ BeginAgain(e.o)
  \/ e.op = "replace" /\ ReplaceQuote(e.phase)
  \/ e.op = "acquire" /\ e.wasFree /\ Acquire
  \/ e.op = "renew" /\ (Retake(e.o) \/ UNCHANGED vars)
  \/ e.op = "let go" /\ IF IsOwn(e.o) /\ row.lease THEN LetGo(e.o) ELSE UNCHANGED vars
  \/ e.op = "hand" /\ Handed
  \/ e.op = "store" /\ Stored
  \/ e.op = "learn" /\ Learn(e.o)
  \/ e.op = "prune" /\ Prune
  \/ e.op = "prune quote" /\ PruneQuote
  \/ e.op = "restore" /\ Restored
  \/ e.op = "look" /\ UNCHANGED vars
  \/ e.op = "take" /\ \E o \in Range(e.os) : Take(o, e.answer)
  \/ e.op = "order" /\ \E o \in Range(e.os) : OrderRelease(o)
  \/ e.op = "give" /\ \E o \in Range(e.os) : GiveBack(o)
  \/ e.op = "commit" /\ (Commit(sendings[e.sending]) \/ (sendings[e.sending] \in payments /\ UNCHANGED vars))
  \/ e.op = "listed" /\ IF sendings[e.sending] \in listed THEN UNCHANGED vars ELSE List(sendings[e.sending])

Sent == e.op = "send" /\ \E o \in Range(e.os) : Send(o) /\ sendings' = Append(sendings, own[o].live)

(* That a request was refused shows only in what its owner stores. Flows of a process share what they read. *)
Unrecorded ==
  \/ /\ e.op = "hand" /\ e.phase = "unknown" /\ e.no /\ own[e.o].view.phase = "claimed" /\ own[e.o].view.new \in inFlight
     /\ Refuse(own[e.o].view.new)
  \/ /\ e.op = "look"
     /\ \E look \in Range(e.looks) :
          own[look.o].view.phase \in {"funds-requested", "unknown"} /\ \E n \in {0, look.waited} : Look(look.o, n)

TraceNext == /\ i <= Len(Traces[t])
             /\ \/ Recorded /\ i' = i + 1 /\ UNCHANGED <<t, sendings>>
                \/ Sent /\ i' = i + 1 /\ UNCHANGED t
                \/ Unrecorded /\ UNCHANGED <<t, i, sendings>>

TraceSpec == TraceInit /\ [][TraceNext]_traced

Reached == i <= TLCGet(t) \/ (TLCSet(t, i) /\ PrintT(<<"reached", t, i>>))
(* To see the states before the step that is none of the specification's. *)
IsBefore == i < Stop
=============================================================================
