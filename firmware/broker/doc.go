// Package broker is the one privileged process between applications and the driver: it
// admits clients by entitlement, keeps programs resident for those who may share them, and
// divides the engine's time.
//
//	client A (tier, team, hash) --+
//	client B                    --+--> one gated queue --> driver
//	client C                    --+     priority from quality of service
//
// Clients are sorted into tiers by what they hold. A model's memory stays wired while it is
// in use, and longer for instances that ask for that.
//
// There is one engine, so clients do not get a part of it: they take turns. A client whose
// instances are many gets fewer requests in flight when others wait.
package broker
