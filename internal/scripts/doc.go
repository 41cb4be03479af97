// Package scripts runs scripts on models: several clients that share an engine ([RunClients], with
// the scripts of package traffic), and calls of programs through the modelled driver and firmware
// ([Models], for the scripts of package machine).
package scripts
