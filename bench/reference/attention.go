package reference

var attentions = map[string]operator{}
