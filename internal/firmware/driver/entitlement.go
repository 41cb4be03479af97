package driver

import "slices"

// Entitlements that the driver checks when a client is made.
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

// SandboxException lets a client without [UserAccess] open a direct-path user client, for requests of
// programs that the broker lends to it. The device open stays the broker's.
const SandboxException = "com.apple.security.temporary-exception.iokit-user-client-class"

// An Identity is the part of a client's code signature that decides which programs it may use: only
// those whose owner has the same. The zero Identity is that of code without a signature, and equals
// only itself.
type Identity struct {
	Team          string
	CodeDirectory string // hash
}

// Entitlements lists the entitlements that a caller's code signature grants.
type Entitlements []string

// Has reports whether the list contains the named entitlement.
func (e Entitlements) Has(name string) bool { return slices.Contains(e, name) }

// KernelEntitlements returns all entitlements that the driver checks.
func KernelEntitlements() []string {
	return []string{UserAccess, DataChaining, Realtime, Reserved, Memory, Data, SetHints, ShareHints}
}
