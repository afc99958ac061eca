{{/* What clients connect to: the key among `ports` of values, the name, the container's port, and whether the service has it. */}}
{{- define "warren.ports" -}}
{{- $ports := .Values.containerPorts -}}
{{- $isManagedByTls := and .Values.tls.enabled .Values.tls.management -}}
- {key: amqp, name: amqp, port: {{ $ports.amqp }}, isOffered: {{ .Values.service.portEnabled }}}
{{- if .Values.tls.enabled }}
- {key: amqpTls, name: amqp-tls, port: {{ $ports.amqpTls }}, isOffered: true}
{{- end }}
- key: manager
  name: http-stats
  port: {{ $isManagedByTls | ternary $ports.managerTls $ports.manager }}
  isOffered: {{ .Values.service.managerPortEnabled }}
{{- if .Values.metrics.enabled }}
- {key: metrics, name: metrics, port: {{ $ports.metrics }}, isOffered: true}
{{- end }}
{{- end -}}
