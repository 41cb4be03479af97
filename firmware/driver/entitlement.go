package driver

import "slices"

// The entitlements that the kernel reads when a client is made.
const (
	UserAccess   = "com.apple.ane.iokit-user-access"         // opens either user client
	DataChaining = "com.apple.ane.allow-dataChaining-access" // resident data chaining
	Realtime     = "com.apple.ane.realtime-priority-client"  // priorities 0 and 1
	Reserved     = "com.apple.ane.allow-system-reserved-priorities"
	Memory       = "com.apple.ane.memory"
	Data         = "com.apple.ane.allow-data"
	SetHints     = "com.apple.private.ane.allow-set-client-hints"
	ShareHints   = "com.apple.private.ane.allow-share-coalition-hints"
)

// Entitlements is what a caller's signature grants it.
type Entitlements []string

// Has reports whether one of them is granted.
func (e Entitlements) Has(name string) bool { return slices.Contains(e, name) }

// KernelEntitlements lists every entitlement that the driver reads, the two gates first.
func KernelEntitlements() []string {
	return []string{UserAccess, DataChaining, Realtime, Reserved, Memory, Data, SetHints, ShareHints}
}
