package driver

import (
	"encoding/binary"
	"slices"

	"anesim/internal/firmware/command"
)

// A Method is an operation of the driver that is called by name, because it has no selector number.
type Method struct {
	Name, Role string
	// Privileged methods require privileged access to virtual memory, in addition to the
	// entitlement of the client.
	Privileged bool
	// Entitlement is an additional entitlement that the method requires, or "". The documents
	// do not say which methods require one, so the values are assumed.
	Entitlement string
	// Kind is Hints if only clients of that kind have the method. Otherwise, clients of all
	// other kinds have it.
	Kind Kind
}

var methods = [...]Method{
	{Name: "ANE_PowerOn", Role: "power domains"},
	{Name: "ANE_PowerOff", Role: "power domains"},
	{Name: "ANE_IsPowered", Role: "power domains"},
	{Name: "ANE_LoadFirmware", Role: "firmware image"},
	{Name: "ANE_ForgetFirmware", Role: "firmware image"},
	{Name: "ANE_SendCommand", Role: "raw firmware command", Privileged: true},
	{Name: "ANE_SetPowerManagement", Role: "power policy"},
	{Name: "ANE_SetDynamicPowerGating", Role: "power policy"},
	{Name: "ANE_SetPowerGatingHysteresisTime", Role: "power policy"},
	{Name: "ANE_SetThrottlingPercentage", Role: "thermal throttle"},
	{Name: "ANE_SetDARTCacheTTL", Role: "address translation"},
	{Name: "ANE_FlushInactiveDARTMappings", Role: "address translation"},
	{Name: "ANE_UnmapDartBuffers", Role: "address translation"},
	{Name: "ANE_ReadANERegister", Role: "raw register", Privileged: true},
	{Name: "ANE_WriteANERegister", Role: "raw register", Privileged: true},
	{Name: "ANE_FWSharedEventDoorbellRing", Role: "shared events"},
	{Name: "ANE_AddPersistentClient", Role: "residency"},
	{Name: "ANE_RemovePersistentClient", Role: "residency"},
	{Name: "ANE_MPMMemoryMapRequest", Role: "managed memory", Entitlement: Memory},
	{Name: "ANE_MPMMemoryUnmapRequest", Role: "managed memory", Entitlement: Memory},
	{Name: "ANE_ExclaveCycle", Role: "secure world", Privileged: true},
	{Name: "ANE_ExclaveLoad", Role: "secure world", Privileged: true},
	{Name: "ANE_ExclaveEvaluate", Role: "secure world", Privileged: true},
	{Name: "ANE_ExclaveUnload", Role: "secure world", Privileged: true},
	{Name: "ANE_ExclaveReadPropertyValue", Role: "secure world", Privileged: true},
	{Name: "ANE_ExclaveWritePropertyValue", Role: "secure world", Privileged: true},
	{Name: "ANE_GetClientsInfo", Role: "diagnostics", Entitlement: Data},
	{Name: "ANE_ShowSharedMemoryAllocations", Role: "diagnostics", Entitlement: Data},
	{Name: "ANE_ShowModelMemoryStatus", Role: "diagnostics", Entitlement: Data},
	{Name: "setClientHint", Role: "hints", Entitlement: SetHints, Kind: Hints},
	{Name: "shareCoalitionHint", Role: "hints", Entitlement: ShareHints, Kind: Hints},
}

// Methods returns the operations of the driver that clients call by name. Methods of kind Hints
// belong to clients of that kind. The others belong to clients of kind DirectPath and, by
// assumption, of kind Control.
func Methods() []Method { return slices.Clone(methods[:]) }

// Method calls the named method and returns its results. It returns [BadArgument] for an unknown
// method or wrong arguments, [NotPrivileged] if the client lacks privileged access, and
// [Unsupported] if it lacks an entitlement or if the method's effect is not documented. It returns
// [ExclusiveAccess] if the client is closed, and [NotReady] if the client has not opened the
// device.
//
// The documents do not give the arguments and results of methods. The ones below are this project's
// own; all other methods have none:
//
//	ANE_IsPowered                             -> 1 or 0
//	ANE_SendCommand           channel, words  -> status
//	ANE_ReadANERegister       address         -> word
//	ANE_WriteANERegister      address, word
//	ANE_FWSharedEventDoorbellRing event, value
//	ANE_SetPowerManagement    0 or 1
//	ANE_SetDynamicPowerGating 0 or 1
//	ANE_SetPowerGatingHysteresisTime milliseconds
//	ANE_SetThrottlingPercentage 1 to 100
//	ANE_MPMMemoryMapRequest   buffer, size    -> device address
//	ANE_MPMMemoryUnmapRequest device address
//	ANE_GetClientsInfo                        -> clients, persistent ones
//	ANE_ShowSharedMemoryAllocations           -> buffers, bytes
//	ANE_ShowModelMemoryStatus                 -> program handles
func (c *Client) Method(name string, args ...uint64) ([]uint64, Return) {
	at := slices.IndexFunc(methods[:], func(m Method) bool { return m.Name == name })
	switch {
	case c.closed:
		return nil, ExclusiveAccess
	case at < 0 || (c.kind == Hints) != (methods[at].Kind == Hints):
		return nil, BadArgument
	case methods[at].Privileged && !c.privileged:
		return nil, NotPrivileged
	case methods[at].Entitlement != "" && !c.rights.Has(methods[at].Entitlement):
		return nil, Unsupported
	case c.kind == Hints:
		return nil, Success // hints have no effect in the model
	case !c.open:
		return nil, NotReady
	}
	return c.callMethod(name, args)
}

func (c *Client) callMethod(name string, args []uint64) ([]uint64, Return) {
	// No struct limits the arguments of a method, as it does those of a selector, so their number is
	// checked here. A raw command has as many words as its body needs.
	if want := map[string]int{
		"ANE_ReadANERegister": 1, "ANE_WriteANERegister": 2, "ANE_FWSharedEventDoorbellRing": 2,
		"ANE_SetPowerManagement": 1, "ANE_SetDynamicPowerGating": 1, "ANE_SetPowerGatingHysteresisTime": 1, "ANE_SetThrottlingPercentage": 1,
		"ANE_MPMMemoryMapRequest": 2, "ANE_MPMMemoryUnmapRequest": 1,
	}[name]; name != "ANE_SendCommand" && len(args) != want {
		return nil, BadArgument
	}
	d := c.driver
	switch name {
	case "ANE_PowerOn", "ANE_PowerOff":
		return nil, d.setPower(name == "ANE_PowerOn")
	case "ANE_IsPowered":
		// A domain is on when its status word's low byte is 0xff.
		v, ok := d.backend.ReadRegister(powerStatus)
		on := uint64(0)
		if ok && v&0xff == 0xff {
			on = 1
		}
		return []uint64{on}, Success
	case "ANE_SetPowerManagement", "ANE_SetDynamicPowerGating", "ANE_SetPowerGatingHysteresisTime", "ANE_SetThrottlingPercentage":
		if !d.backend.SetPower(powerSettings[name], args[0]) {
			return nil, BadArgument
		}
		return nil, Success
	case "ANE_SendCommand":
		return c.sendCommand(args)
	case "ANE_ReadANERegister":
		v, ok := d.backend.ReadRegister(args[0])
		if !ok {
			return nil, BadArgument
		}
		return []uint64{uint64(v)}, Success
	case "ANE_WriteANERegister":
		if args[1] > 1<<32-1 || !d.backend.WriteRegister(args[0], uint32(args[1])) {
			return nil, BadArgument
		}
		return nil, Success
	case "ANE_FWSharedEventDoorbellRing":
		if args[0] > 1<<32-1 {
			return nil, BadArgument
		}
		d.backend.Signal(command.Event{ID: uint32(args[0]), Value: args[1]})
		return nil, Success
	case "ANE_AddPersistentClient", "ANE_RemovePersistentClient":
		return nil, c.setPersistent(name == "ANE_AddPersistentClient")
	case "ANE_MPMMemoryMapRequest":
		address, r := c.mapBuffer(args[0], args[1])
		if r != Success {
			return nil, r
		}
		return []uint64{address}, Success
	case "ANE_MPMMemoryUnmapRequest":
		return nil, c.unmapBuffer(args[0])
	case "ANE_GetClientsInfo":
		return []uint64{uint64(d.clients), uint64(d.persistent)}, Success
	case "ANE_ShowSharedMemoryAllocations":
		return []uint64{uint64(d.mapped), d.bytes}, Success
	case "ANE_ShowModelMemoryStatus":
		return []uint64{uint64(d.programs)}, Success
	}
	return nil, Unsupported
}

// powerSettings maps the methods that change a power setting to that setting.
var powerSettings = map[string]PowerSetting{
	"ANE_SetPowerManagement": PowerManagement, "ANE_SetDynamicPowerGating": PowerGating,
	"ANE_SetPowerGatingHysteresisTime": PowerHysteresis, "ANE_SetThrottlingPercentage": PowerThrottling,
}

// powerStatus is the address of the base domain's status word, whose low byte is 0xff if
// the domain is on.
const powerStatus = 0x2_6bc0_c000

// setPower sends the command that turns the device on or off. It returns Busy if the device must
// stay on for a persistent client.
func (d *Driver) setPower(on bool) Return {
	id := command.PowerDeviceOn
	if !on {
		if d.persistent > 0 {
			return Busy
		}
		id = command.PowerDeviceOff
	}
	r := d.sendProgramCommand(id, -1)
	return translateReply(&r)
}

// setPersistent sets whether the client is persistent, which means that it keeps the device
// on. It returns Busy if nothing would change.
func (c *Client) setPersistent(on bool) Return {
	if c.persistent == on {
		return Busy
	}
	c.persistent = on
	if on {
		c.driver.persistent++
	} else {
		c.driver.persistent--
	}
	return Success
}

// sendCommand sends a message to the controller. The arguments are the channel, followed by
// the words of the message.
func (c *Client) sendCommand(args []uint64) ([]uint64, Return) {
	if len(args) < 1+command.HeaderBytes/4 || args[0] > uint64(command.Execution) || len(args) > 1+(command.HeaderBytes+command.MaxBody)/4 {
		return nil, BadArgument
	}
	var data []byte
	for _, w := range args[1:] {
		if w > 1<<32-1 {
			return nil, BadArgument
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(w))
	}
	m, rest, err := command.Read(data)
	if err != nil || len(rest) > 0 {
		return nil, BadArgument
	}
	r := c.driver.backend.Send(command.Channel(args[0]), &m)
	return []uint64{uint64(r.Status)}, translateReply(&r)
}
