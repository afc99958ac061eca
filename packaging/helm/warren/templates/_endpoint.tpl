{{/* What is said of an endpoint besides its path: {context, own}. */}}
{{- define "warren.endpoint" -}}
{{- $monitor := .context.Values.metrics.serviceMonitor -}}
port: metrics
honorLabels: {{ $monitor.honorLabels }}
{{- with default $monitor.interval .own.interval }}
interval: {{ . }}
{{- end }}
{{- with default $monitor.scrapeTimeout .own.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with concat $monitor.relabelings (default (list) .own.relabelings) }}
relabelings: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with concat $monitor.metricRelabelings (default (list) .own.metricRelabelings) }}
metricRelabelings: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
