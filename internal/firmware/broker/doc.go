// Package broker models the privileged process between applications and the driver. It
// admits clients by entitlement, keeps programs resident for clients that may share them,
// and divides the engine's time.
//
//	client A (tier, team, hash) --+
//	client B                    --+--> one gated queue --> driver
//	client C                    --+     priority from quality of service
//
// Clients are assigned to tiers by their entitlements. A model's memory stays wired while
// it is in use, and longer for instances that request it.
//
// There is one engine, so clients take turns. While other clients wait, a client's
// instances may have only one request each in flight.
package broker
