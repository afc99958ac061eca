{{/* What a pod is besides its containers and volumes. */}}
{{- define "warren.podOptions" -}}
serviceAccountName: {{ include "warren.serviceAccountName" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automountServiceAccountToken }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- $secrets := concat .Values.global.imagePullSecrets .Values.image.pullSecrets | uniq }}
{{- with $secrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "map" . | ternary (. | toJson) (dict "name" . | toJson) | fromJson | dig "name" "" }}
  {{- end }}
{{- end }}
{{- if .Values.podSecurityContext.enabled }}
securityContext: {{ omit .Values.podSecurityContext "enabled" | toYaml | nindent 2 }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- range $key := list "dnsPolicy" "priorityClassName" "schedulerName" "runtimeClassName" }}
{{- with index $.Values $key }}
{{ $key }}: {{ . }}
{{- end }}
{{- end }}
{{- range $key := list "hostAliases" "dnsConfig" "topologySpreadConstraints" "nodeSelector" "tolerations" "initContainers" }}
{{- with index $.Values $key }}
{{ $key }}: {{ include "warren.rendered" (dict "value" . "context" $) | nindent 2 }}
{{- end }}
{{- end }}
{{- if .Values.affinity }}
affinity: {{ include "warren.rendered" (dict "value" .Values.affinity "context" $) | nindent 2 }}
{{- else if ne .Values.podAntiAffinityPreset "none" }}
affinity:
  podAntiAffinity:
    {{- if eq .Values.podAntiAffinityPreset "hard" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{ include "warren.selector" . | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{ include "warren.selector" . | nindent 14 }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* The broker's container. */}}
{{- define "warren.container" -}}
image: {{ include "warren.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if .Values.containerSecurityContext.enabled }}
securityContext: {{ omit .Values.containerSecurityContext "enabled" | toYaml | nindent 2 }}
{{- end }}
{{- if .Values.command }}
command: {{ include "warren.rendered" (dict "value" .Values.command "context" $) | nindent 2 }}
{{- end }}
{{- if .Values.args }}
args: {{ include "warren.rendered" (dict "value" .Values.args "context" $) | nindent 2 }}
{{- else if not .Values.command }}
args: [serve, --config, /etc/warren/warren.conf, --data-dir, {{ .Values.persistence.mountPath }}/data]
{{- end }}
env:
  - name: MY_POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  # The same with one replica: it becomes the first of a cluster as it is.
  - name: RABBITMQ_NODENAME
    value: rabbit@$(MY_POD_NAME).{{ include "warren.nodeHost" . }}
  - name: RABBITMQ_DEFAULT_USER
    {{- if .Values.auth.existingSecretUsernameKey }}
    valueFrom:
      secretKeyRef: {name: {{ include "warren.passwordSecret" . }}, key: {{ .Values.auth.existingSecretUsernameKey }}}
    {{- else }}
    value: {{ .Values.auth.username | quote }}
    {{- end }}
  - name: RABBITMQ_DEFAULT_PASS
    valueFrom:
      secretKeyRef: {name: {{ include "warren.passwordSecret" . }}, key: {{ .Values.auth.existingSecretPasswordKey }}}
  - name: RABBITMQ_DEFAULT_VHOST
    value: {{ .Values.auth.vhost | quote }}
  # Where `warren ctl` in the container asks.
  - name: WARREN_CTL_URL
    value: unix:{{ .Values.persistence.mountPath }}/data/control.sock
  {{- with .Values.extraEnvVars }}
  {{- include "warren.rendered" (dict "value" . "context" $) | nindent 2 }}
  {{- end }}
{{- if or .Values.extraEnvVarsCM .Values.extraEnvVarsSecret }}
envFrom:
  {{- with .Values.extraEnvVarsCM }}
  - configMapRef: {name: {{ tpl . $ }}}
  {{- end }}
  {{- with .Values.extraEnvVarsSecret }}
  - secretRef: {name: {{ tpl . $ }}}
  {{- end }}
{{- end }}
ports:
  {{- range include "warren.ports" . | fromYamlArray }}
  - {name: {{ .name }}, containerPort: {{ .port }}}
  {{- end }}
  {{- if include "warren.isCluster" . }}
  - {name: cluster, containerPort: {{ .Values.containerPorts.cluster }}}
  {{- end }}
  {{- with .Values.extraContainerPorts }}
  {{- include "warren.rendered" (dict "value" . "context" $) | nindent 2 }}
  {{- end }}
{{- $probes := list
  (list "startupProbe" .Values.startupProbe .Values.customStartupProbe "cluster_members")
  (list "livenessProbe" .Values.livenessProbe .Values.customLivenessProbe "cluster_members")
  (list "readinessProbe" .Values.readinessProbe .Values.customReadinessProbe "check_if_ready_to_serve_clients") }}
{{- range $probes }}
{{- $probe := dict "context" $ "probe" (index . 1) "custom" (index . 2) "command" (index . 3) }}
{{- if or $probe.probe.enabled $probe.custom }}
{{ index . 0 }}: {{ include "warren.probe" $probe | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.lifecycleHooks }}
lifecycle: {{ include "warren.rendered" (dict "value" . "context" $) | nindent 2 }}
{{- end }}
{{- with .Values.resources }}
resources: {{ toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - {name: data, mountPath: {{ .Values.persistence.mountPath }}}
  - {name: config, mountPath: /etc/warren/warren.conf, subPath: warren.conf, readOnly: true}
  {{- if .Values.advancedConfiguration }}
  - {name: config, mountPath: /etc/warren/advanced.config, subPath: advanced.config, readOnly: true}
  {{- end }}
  - {name: tmp, mountPath: /tmp}
  {{- if .Values.existingConfigurationSecret }}
  - {name: extra-config, mountPath: /etc/warren/conf.d, readOnly: true}
  {{- end }}
  {{- if include "warren.isCluster" . }}
  - {name: cluster-secret, mountPath: /etc/warren/cluster-secret, readOnly: true}
  {{- if .Values.clusterTls.enabled }}
  - {name: cluster-tls, mountPath: /etc/warren/cluster-tls, readOnly: true}
  {{- end }}
  {{- end }}
  {{- if .Values.tls.enabled }}
  - {name: tls, mountPath: /etc/warren/tls, readOnly: true}
  {{- end }}
  {{- if .Values.loadDefinition.enabled }}
  - {name: definitions, mountPath: {{ dir .Values.loadDefinition.file }}, readOnly: true}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- include "warren.rendered" (dict "value" . "context" $) | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "warren.volumes" -}}
- name: config
  secret: {secretName: {{ include "warren.fullname" . }}-config}
- name: tmp
  emptyDir: {}
{{- if not .Values.persistence.enabled }}
- name: data
  emptyDir: {}
{{- else if .Values.persistence.existingClaim }}
- name: data
  persistentVolumeClaim: {claimName: {{ tpl .Values.persistence.existingClaim $ }}}
{{- end }}
{{- with .Values.existingConfigurationSecret }}
- name: extra-config
  secret: {secretName: {{ tpl . $ }}}
{{- end }}
{{- if include "warren.isCluster" . }}
- name: cluster-secret
  secret:
    secretName: {{ include "warren.clusterSecret" . }}
    items: [{key: {{ include "warren.clusterSecretKey" . }}, path: secret}]
{{- if .Values.clusterTls.enabled }}
- name: cluster-tls
  secret: {secretName: {{ tpl .Values.clusterTls.existingSecret $ }}}
{{- end }}
{{- end }}
{{- if .Values.tls.enabled }}
- name: tls
  secret: {secretName: {{ tpl .Values.tls.existingSecret $ }}}
{{- end }}
{{- if .Values.loadDefinition.enabled }}
- name: definitions
  secret: {secretName: {{ tpl .Values.loadDefinition.existingSecret $ }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ include "warren.rendered" (dict "value" . "context" $) }}
{{- end }}
{{- end -}}
