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

// rawMethods are methods beside the selectors that reach the hardware without a program.
var rawMethods = [...]string{
	"ANE_ReadANERegister", "ANE_WriteANERegister", "ANE_SendCommand",
	"ANE_ExclaveCycle", "ANE_ExclaveLoad", "ANE_ExclaveEvaluate", "ANE_ExclaveUnload",
	"ANE_ExclaveReadPropertyValue", "ANE_ExclaveWritePropertyValue",
}

// RawMethods lists the methods that take a second check beyond the entitlement to open a
// client: privileged virtual-machine access.
func RawMethods() []string { return slices.Clone(rawMethods[:]) }

// Raw is what a raw method returns to a client: NotPrivileged without the property. With it
// the exclave methods are stubs on H13, and the others have no documented arguments.
func (c *Client) Raw(method string) Return {
	switch {
	case c.closed:
		return ExclusiveAccess
	case !slices.Contains(rawMethods[:], method):
		return BadArgument
	case !c.privileged:
		return NotPrivileged
	}
	return Unsupported
}
