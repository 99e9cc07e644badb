-------------------------------- MODULE flow --------------------------------
(* The durable flow of one key: docs/durable-flow.md. Journal, service, bank and owners take steps in any order. A crash is an owner that
   takes no further step, a stopped process one that takes it late. Time is what it proves: who takes a flow over knows that the lease
   before is over (Acquire), and who has waited knows what can no longer be on its way (Look).

   A claim is a number; made[c] is the owner that made it. Each owner is a number, too, and is its own nonce.                          *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS MostOwners, MostClaims, MostRestores, MostDecisions,    \* bounds of what TLC explores
          Quotes,                                                 \* whether flows begin as quotes, too
          Unseen,                                                 \* whether clocks may not show the end of a lease
          SingleUse, ListedWithin,                                \* what the service's operators promise: see the option `service`
          Without                                                 \* rules that are taken out, to show that a law breaks without them

VARIABLES row, past, inc,             \* the journal: the key's row, its earlier rows, and how often it was restored to one
          msgs, stored,               \* writes that were handed to it, which arrive late, twice or never; and those that it has stored
          own, made,                  \* owners and claims, by number
          sent, inFlight, refused,    \* requests of claims: sent; may still arrive; certainly refused
          payments, listed,           \* claims that were paid; those of them that the list shows
          bank,                       \* "untouched", "taken", "declined", "released"
          resends, releases           \* decisions of operators

journal == <<row, past, inc, msgs, stored>>
service == <<sent, inFlight, refused, payments, listed>>
operators == <<resends, releases>>
vars == <<journal, own, made, service, bank, operators>>

None == [none |-> TRUE]
Settled == {"quoted", "paid", "declined", "rejected", "held", "pruned"}
Rule(name) == name \notin Without
Max(S) == IF S = {} THEN 0 ELSE CHOOSE c \in S : \A d \in S : d <= c

(* What a row stores: `claims` may still be paid, `new` is the newest one, `no` says that it was refused. `txn`: the money is known to be
   taken. `since`: payments that are older than the mark; `sure`: no payment of the key can be. *)
First(phase) == [phase |-> phase, claims |-> {}, new |-> 0, no |-> FALSE, txn |-> FALSE, since |-> payments, sure |-> FALSE]

Owner(entry, must) ==
  [view |-> entry.c, epoch |-> entry.epoch, rev |-> entry.rev, inc |-> inc, busy |-> None, must |-> must,
   knows |-> must /\ entry.mark = inc, funds |-> "unasked", first |-> FALSE, saw |-> "nothing", waited |-> 0, live |-> 0, over |-> FALSE, late |-> FALSE, ended |-> FALSE, gives |-> FALSE]

Init == /\ row = None /\ past = {None} /\ inc = 1 /\ msgs = {} /\ stored = {} /\ own = <<>> /\ made = <<>>
        /\ sent = {} /\ inFlight = {} /\ refused = {} /\ payments = {} /\ listed = {} /\ bank = "untouched"
        /\ resends = 0 /\ releases = 0

------------------------------------------------------------------------------
(* The journal. Each entry has one owner. *)

Put(new) == row' = new /\ past' = IF inc <= MostRestores THEN past \cup {new} ELSE past

Begin(phase) ==
  LET o == Len(own) + 1
      new == [c |-> First(phase), epoch |-> 1, nonce |-> o, rev |-> 1, lease |-> phase \notin Settled, mark |-> 0]
  IN /\ row = None /\ Put(new) /\ own' = Append(own, Owner(new, FALSE))
     /\ UNCHANGED <<inc, msgs, stored, made, service, bank, operators>>

(* A request to begin that arrives twice, when the row that it made is no more. *)
BeginAgain(o) ==
  LET phase == IF own[o].view.phase = "quoted" THEN "quoted" ELSE "funds-requested"
  IN /\ row = None /\ own[o].epoch = 1
     /\ Put([c |-> [First(phase) EXCEPT !.since = own[o].view.since], epoch |-> 1, nonce |-> o, rev |-> 1,
             lease |-> phase \notin Settled, mark |-> 0])
     /\ UNCHANGED <<inc, msgs, stored, own, made, service, bank, operators>>

(* confirm, cancel, a new price, a fence: in place of a quote that is still as it was seen. *)
ReplaceQuote(phase) ==
  LET o == Len(own) + 1
      new == [c |-> First(phase), epoch |-> row.epoch + 1, nonce |-> o, rev |-> row.rev + 1, lease |-> phase \notin Settled, mark |-> row.mark]
  IN /\ row # None /\ row.c.phase = "quoted" /\ Put(new) /\ own' = Append(own, Owner(new, FALSE))
     /\ UNCHANGED <<inc, msgs, stored, made, service, bank, operators>>

(* Of a lease that was released, or is over. Then its owner's own clocks say so, too: it sends nothing more. Unless the journal was restored
   since: what it has lost may have renewed the lease. And unless that is seen on neither clock, of a machine that was suspended and its time
   set back. *)
Acquire(seen) ==
  LET o == Len(own) + 1
      new == [row EXCEPT !.epoch = @ + 1, !.nonce = o, !.lease = TRUE]
  IN /\ row # None /\ row.c.phase # "pruned" /\ Put(new)
     /\ own' = Append([own EXCEPT ![row.nonce].over = @ \/ (seen /\ inc = own[row.nonce].inc)], Owner(new, TRUE))
     /\ UNCHANGED <<inc, msgs, stored, made, service, bank, operators>>

IsOwn(o) == row # None /\ (Rule("owner") => row.epoch = own[o].epoch /\ row.nonce = o) /\ row.c.phase # "pruned"

(* An owner whose lease had ended renews it, and looks: another one may have had the flow meanwhile. A claim that it has handed to the
   journal before is not sent any more: it may be sent within the lease in which it was made. *)
Retake(o) == /\ IsOwn(o) /\ row.lease
             /\ own' = [own EXCEPT ![o].over = FALSE, ![o].must = TRUE, ![o].knows = FALSE, ![o].live = 0, ![o].saw = "nothing",
                                     ![o].late = @ \/ own[o].busy # None]
             /\ UNCHANGED <<journal, made, service, bank, operators>>

(* It decides nothing more. *)
LetGo(o) == /\ IsOwn(o) /\ row.lease /\ Put([row EXCEPT !.lease = FALSE]) /\ own' = [own EXCEPT ![o].over = TRUE, ![o].ended = TRUE]
            /\ UNCHANGED <<inc, msgs, stored, made, service, bank, operators>>

MayStore(m) == IsOwn(m.o) /\ (Rule("revision") => row.rev = m.rev) /\ (m.c.phase = "claimed" => row.lease)

Store(m) == /\ m \in msgs /\ MayStore(m) /\ stored' = stored \cup {m}
            /\ Put([row EXCEPT !.c = m.c, !.rev = @ + 1, !.lease = @ /\ m.c.phase \notin Settled, !.mark = IF m.mark = 0 THEN @ ELSE m.mark])
            /\ UNCHANGED <<inc, msgs, own, made, service, bank, operators>>

Prune == /\ row # None /\ row.c.phase \in {"paid", "declined", "rejected"} /\ Put([row EXCEPT !.c.phase = "pruned"])
         /\ UNCHANGED <<inc, msgs, stored, own, made, service, bank, operators>>

PruneQuote == row # None /\ row.c.phase = "quoted" /\ Put(None) /\ UNCHANGED <<inc, msgs, stored, own, made, service, bank, operators>>

(* A backup, or a replica that lagged, takes the journal's place, and everybody goes on. *)
Restore(earlier) == /\ earlier \in past /\ row' = earlier /\ inc' = inc + 1
                    /\ UNCHANGED <<past, msgs, stored, own, made, service, bank, operators>>

------------------------------------------------------------------------------
(* Service and bank. *)

Commit(c) == /\ c \in inFlight /\ payments' = payments \cup {c} /\ (SingleUse => payments \subseteq {c})
             /\ UNCHANGED <<journal, own, made, sent, inFlight, refused, listed, bank, operators>>
List(c) == c \in payments \ listed /\ listed' = listed \cup {c} /\ UNCHANGED <<journal, own, made, sent, inFlight, refused, payments, bank, operators>>
(* What was refused does not arrive any more. A proxy that sends twice may have been told no for the second time only. *)
Refuse(c) == /\ c \in inFlight /\ inFlight' = inFlight \ {c} /\ refused' = refused \cup {c}
             /\ UNCHANGED <<journal, own, made, sent, payments, listed, bank, operators>>

(* It has begun the flow, and took the money: no payment of the key is older than the mark. *)
IsFirst(o, answer) == answer = "first" /\ ~own[o].must /\ ~own[o].view.txn

Answers == CASE bank = "untouched" -> {"first", "null"} [] bank = "taken" -> {"replayed"} [] OTHER -> {"null"}
Take(o, answer) ==
  /\ own[o].view.phase = "funds-requested" /\ own[o].busy = None /\ answer \in Answers
  /\ bank' = CASE answer = "first" -> "taken" [] answer = "null" /\ bank = "untouched" -> "declined" [] OTHER -> bank
  /\ own' = [own EXCEPT ![o].funds = answer, ![o].first = @ \/ IsFirst(o, answer),
                             ![o].knows = @ \/ (answer = "first" /\ ~own[o].over)]
  /\ UNCHANGED <<journal, made, service, operators>>
GiveBack(o) == /\ own[o].gives /\ bank' = "released" /\ UNCHANGED <<journal, own, made, service, operators>>

------------------------------------------------------------------------------
(* The owner of a flow. What it knows is what it has read, or was told to be stored: view. *)

(* A complete look, after a wait by this owner alone since it got the flow, made its newest claim, and was refused. What it was waited for:
   1: what a proxy sent twice is listed; 2: no claim that the journal lost can be sent any more, or is on its way and not listed, and no
   release that another owner ordered is on its way to the bank. *)
Look(o, n) ==
  LET v == own[o].view
      known == IF n = 2 /\ ListedWithin THEN {} ELSE v.claims
      visible == IF v.sure \/ ~Rule("look without the mark") THEN listed \ v.since ELSE listed
      unsure == n = 2 /\ ~own[o].knows /\ own[o].must
      proves == n = 2 /\ ~own[o].over
      \* What is there may have been paid by a claim that the journal lost, and the money is not given back.
      tells == proves /\ (v.phase = "refused" => visible = {})
  IN /\ own[o].busy = None /\ ~own[o].ended
     /\ n >= 1 /\ v.no /\ v.new \in payments => v.new \in listed
     /\ proves => payments \ known \subseteq listed
     /\ inFlight' = IF proves THEN inFlight \cap known ELSE inFlight
     /\ own' = [q \in 1..Len(own) |->
          IF q = o
          THEN [own[o] EXCEPT !.saw = IF visible = {} THEN "nothing there" ELSE "found", !.knows = @ \/ tells,
                              !.waited = n,
                              !.funds = IF unsure /\ Rule("ask again") THEN "unasked" ELSE @]
          ELSE IF proves THEN [own[q] EXCEPT !.over = TRUE, !.live = 0, !.gives = FALSE] ELSE own[q]]
     /\ UNCHANGED <<journal, made, sent, refused, payments, listed, bank, operators>>

Lost(o) == own[o].funds = "replayed" /\ ~own[o].must /\ ~own[o].view.txn

(* How long it waits before a look that decides: see Look. *)
Wait(o) ==
  CASE own[o].view.phase = "unknown" -> IF own[o].view.no /\ own[o].knows /\ ~ListedWithin THEN 1 ELSE 2
    [] own[o].view.phase = "refused" -> 2
    [] OTHER -> IF own[o].must /\ ~own[o].knows THEN 2 ELSE 0

(* Other looks change nothing. *)
Looks(o) ==
  LET v == own[o].view
      decides == (v.phase = "unknown" /\ (v.no \/ ListedWithin \/ ~Rule("absence proves nothing"))) \/ (v.phase = "refused" /\ ~own[o].knows)
                 \/ (v.phase = "funds-requested" /\ own[o].funds \in {"first", "replayed"} /\ own[o].must)
  IN (IF decides THEN {IF Rule("wait") THEN Wait(o) ELSE 0} ELSE {})
     \cup (IF v.phase \in {"unknown", "funds-requested"} /\ listed # {} THEN {0} ELSE {})

(* Only the owner that made a claim sends it, once, and within its lease. *)
Send(o) == /\ own[o].live # 0 /\ ~own[o].over /\ own[o].busy = None /\ own[o].live \notin sent
           /\ sent' = sent \cup {own[o].live} /\ inFlight' = inFlight \cup {own[o].live}
           /\ UNCHANGED <<journal, own, made, refused, payments, listed, bank, operators>>

(* Orders the release. It arrives at the bank some time later. A stored refusal may be older than what another owner paid. *)
OrderRelease(o) == /\ own[o].view.phase = "refused" /\ own[o].busy = None /\ ~own[o].over /\ own' = [own EXCEPT ![o].gives = TRUE]
                   /\ (Rule("look behind a refusal") /\ own[o].view.no) => own[o].knows
                   /\ UNCHANGED <<journal, made, service, bank, operators>>

IsAbsent(o, n) == ~Rule("look") \/ (own[o].saw = "nothing there" /\ (Rule("wait") => own[o].waited >= n))

(* Where it has asked again since it took the money, it may have heard the first answer, or not. *)
Funded(o) == {[own[o].view EXCEPT !.txn = TRUE, !.sure = @ \/ sure] :
                sure \in {IsFirst(o, own[o].funds)} \cup (IF own[o].first THEN {TRUE} ELSE {})}
MayClaim(o) == /\ own[o].funds \in {"first", "replayed"} /\ ~own[o].over /\ (Rule("hold lost entries") => ~Lost(o))
               /\ (own[o].must /\ Rule("look before a claim")) => own[o].saw = "nothing there" /\ (Rule("wait before a claim") => own[o].knows)

Drop(v) == [v EXCEPT !.claims = @ \ {v.new}, !.new = Max(v.claims \ {v.new})]

(* What an owner may store next. *)
Options(o) ==
  LET me == own[o]
      v == me.view
      to(phase) == {[v EXCEPT !.phase = phase]}
      funded(phase) == {[c EXCEPT !.phase = phase] : c \in Funded(o)}
      if(condition, contents) == IF condition THEN contents ELSE {}
  IN {v} \cup                                                  \* what was waited, looked at, or failed; another base URL
  CASE v.phase = "funds-requested" ->
         if(me.funds = "null" /\ ~v.txn, to("declined"))
         \cup if(me.funds \in {"first", "replayed"} \/ me.waited = 2, funded(v.phase) \cup funded("held"))
         \cup if(MayClaim(o), {[c EXCEPT !.claims = @ \cup {Len(made) + 1}, !.new = Len(made) + 1, !.no = FALSE] : c \in funded("claimed")})
         \cup if(me.saw = "found", funded("paid"))
    [] v.phase = "claimed" ->
         to("unknown")
         \cup if(made[v.new] = o /\ v.new \in payments, to("paid"))
         \cup if(made[v.new] = o /\ v.new \in refused, {[v EXCEPT !.phase = "unknown", !.no = TRUE]})
         \cup if(made[v.new] = o /\ v.new \notin sent,
                 {[Drop(v) EXCEPT !.phase = IF Drop(v).claims = {} THEN "funds-requested" ELSE IF SingleUse THEN "unknown" ELSE "held"]})
    [] v.phase = "unknown" ->
         to("held")
         \cup if(me.saw = "found", to("paid"))
         \cup if(v.no /\ (v.claims = {v.new} \/ ~Rule("first refusal")) /\ IsAbsent(o, IF me.knows THEN 1 ELSE 2),
                 to("refused") \cup {[Drop(v) EXCEPT !.phase = "funds-requested", !.no = FALSE]})
         \cup if(SingleUse, {[v EXCEPT !.phase = "funds-requested", !.no = FALSE]})
         \cup if(ListedWithin /\ IsAbsent(o, 2), {[v EXCEPT !.phase = "funds-requested", !.claims = {}, !.new = 0, !.no = FALSE]})
         \cup if(~Rule("absence proves nothing") /\ me.saw = "nothing there", {[v EXCEPT !.phase = "funds-requested", !.claims = {}, !.new = 0]})
    [] v.phase = "refused" -> if(bank = "released", to("rejected"))
    [] OTHER -> {}

(* Hands a write to the journal. Until it knows what became of it, the owner does nothing else. One that has just begun a flow whose entry
   was lost, and could not look, ends with it: whoever goes on has to look. *)
Hand(o, c, decides, marks) ==
  LET me == own[o]
      m == [o |-> o, rev |-> me.rev, c |-> c, mark |-> IF marks THEN me.inc ELSE 0]
      goesOn == me.view.phase = "unknown" /\ c.phase = "funds-requested"
  IN /\ me.busy = None /\ ~me.ended /\ (marks => me.knows) /\ msgs' = msgs \cup {m}
     /\ own' = [own EXCEPT ![o] = [me EXCEPT !.busy = m, !.saw = "nothing", !.waited = 0, !.live = 0, !.late = FALSE,
                                             !.over = @ \/ (Lost(o) /\ c.phase = "funds-requested"),
                                             !.must = @ /\ ~decides /\ ~goesOn,
                                             !.funds = IF c.phase = "claimed" THEN "unasked" ELSE @]]
     /\ made' = IF c.phase = "claimed" /\ me.view.phase = "funds-requested" THEN Append(made, o) ELSE made

Write(o, c, marks) == c \in Options(o) /\ Hand(o, c, FALSE, marks) /\ UNCHANGED <<row, past, inc, stored, service, bank, operators>>

(* A person decides about a flow that is held or stuck: whoever owns it then. *)
Decide(o, action, marks) ==
  LET v == own[o].view
      calm == [v EXCEPT !.no = FALSE]
  IN /\ v.txn /\ v.phase \in {"funds-requested", "claimed", "unknown", "held", "refused"} /\ (action = "resend" => v.phase # "refused")
     /\ CASE action = "resend"  -> Hand(o, [calm EXCEPT !.phase = "funds-requested"], TRUE, marks) /\ resends' = resends + 1 /\ UNCHANGED releases
          [] action = "release" -> Hand(o, [calm EXCEPT !.phase = "refused"], TRUE, marks) /\ releases' = releases + 1 /\ UNCHANGED resends
          [] action = "found"   -> listed # {} /\ Hand(o, [calm EXCEPT !.phase = "paid"], TRUE, marks) /\ UNCHANGED operators
     /\ UNCHANGED <<row, past, inc, stored, service, bank>>

(* The owner is told that its write was stored. *)
Learn(o) ==
  LET m == own[o].busy
  IN /\ m # None /\ m \in stored
     /\ own' = [own EXCEPT ![o].view = m.c, ![o].rev = @ + 1, ![o].busy = None,
                           ![o].live = IF m.c.phase = "claimed" /\ made[m.c.new] = o /\ ~own[o].over /\ ~own[o].late THEN m.c.new ELSE 0]
     /\ UNCHANGED <<journal, made, service, bank, operators>>

------------------------------------------------------------------------------
Next ==
  \/ Len(own) < MostOwners /\ (Begin("funds-requested") \/ \E seen \in {TRUE, ~Unseen} : Acquire(seen))
  \/ Len(own) < MostOwners /\ Quotes /\ (Begin("quoted") \/ \E phase \in {"quoted", "funds-requested", "declined"} : ReplaceQuote(phase))
  \/ \E m \in msgs : Store(m)
  \/ Quotes /\ (Prune \/ PruneQuote)
  \/ inc <= MostRestores /\ \E earlier \in past : Restore(earlier)
  \/ \E c \in 1..Len(made) : Commit(c) \/ List(c) \/ Refuse(c)
  \/ \E o \in 1..Len(own) :
       \/ own[o].funds = "unasked" /\ \E answer \in Answers : Take(o, answer)
       \/ BeginAgain(o) \/ GiveBack(o) \/ OrderRelease(o) \/ Send(o) \/ Learn(o) \/ LetGo(o)
       \/ MostRestores > 0 /\ own[o].over /\ Retake(o)
       \/ own[o].saw = "nothing" /\ \E n \in Looks(o) : Look(o, n)
       \/ \E c \in Options(o) : c # own[o].view /\ (c.phase = "claimed" => Len(made) < MostClaims) /\ Write(o, c, own[o].knows)
       \/ resends + releases < MostDecisions /\ \E action \in {"resend", "release"} : Decide(o, action, own[o].knows)

Spec == Init /\ [][Next]_vars

------------------------------------------------------------------------------
(* The laws of docs/durable-flow.md. The fifth one, that every flow comes to its end, is the simulator's. *)

Told(phase) == \E o \in 1..Len(own) : own[o].view.phase = phase
Phase == IF row = None THEN "none" ELSE row.c.phase
WasLost == inc > 1

Once == Cardinality(payments) <= 1 + resends
NeverBoth == bank = "released" /\ releases = 0 => payments = {}
NothingLost == /\ bank = "taken" /\ ~WasLost => Phase \notin {"none", "quoted", "declined", "rejected"}
               /\ sent # {} /\ releases = 0 => bank \in {"taken", "released"}
AllTrue == /\ Told("paid") => payments # {}
           /\ Told("rejected") /\ ~WasLost /\ releases = 0 => payments = {} /\ bank # "taken"
           /\ Told("declined") /\ ~WasLost => payments = {} /\ bank # "taken"
           /\ Told("paid") /\ ~WasLost /\ releases + resends = 0 => Phase \in {"paid", "pruned"}
=============================================================================
